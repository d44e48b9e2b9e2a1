// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "columns.hpp"
#include "compile/compiled.hpp"
#include "compile/thresholds.hpp"
#include "kernels/aligned.hpp"
#include "links.hpp"
#include "tensoa/forest/forest.hpp"

namespace tensoa::forest {

/// Buffers of calls. A thread runs one call at a time, and keeps this for the next one, of
/// whatever forest. Only grows.
struct Workspace {
  AlignedVector<std::uint64_t> tests;
  AlignedVector<std::uint64_t> slots;
  AlignedVector<std::byte> sums;
  AlignedVector<std::uint32_t> bins;
  AlignedVector<std::uint32_t> wide_row;

  template <class T>
  static T* at_least(AlignedVector<T>& memory, std::size_t size) {
    if (memory.size() < size) memory.resize(size);
    return memory.data();
  }

  static Workspace& of_this_thread() {
    thread_local Workspace mine;
    return mine;
  }
};

/// The work of all calls: with the rows that are worked on together, their sums, in the precision of the
/// ensemble, and bins.
template <class Sum>
class Call {
 public:
  Call(const Compiled& forest, std::span<const Column> columns,
       std::span<const AnswerColumn> answers, std::size_t most_rows)
      : forest_(forest),
        ensemble_(forest.ensemble),
        columns_(columns),
        answers_(answers),
        stride_(most_rows) {
    Workspace::at_least(mine_.sums, ensemble_.outputs * stride_ * sizeof(Sum));
    Workspace::at_least(mine_.bins, forest.questions.features.size() * stride_);
  }

 protected:
  const Column& caller_column(std::size_t used) const {
    return columns_[forest_.questions.columns[used].column];
  }

  Sum* sums(std::size_t output) const {
    return reinterpret_cast<Sum*>(mine_.sums.data()) + output * stride_;
  }

  const Sum* leaf_values() const {
    return choose<Sum>(forest_.float_leaf_values, ensemble_.leaf_values);
  }

  void begin_sums() {
    for (std::size_t k = 0; k < ensemble_.outputs; ++k) {
      std::fill_n(sums(k), stride_,
                  ensemble_.base_is_last ? Sum{0} : static_cast<Sum>(ensemble_.base[k]));
    }
  }

  void end_sums() {
    for (std::size_t k = 0; k < ensemble_.outputs; ++k) {
      Sum* const all = sums(k);
      const auto each = [&](auto change) { std::for_each(all, all + n_, change); };
      if (ensemble_.base_is_last)
        each([add = static_cast<Sum>(ensemble_.base[k])](Sum& sum) { sum += add; });
      if (ensemble_.factor != 1)
        each([by = static_cast<Sum>(ensemble_.factor)](Sum& sum) { sum *= by; });
      if (ensemble_.divisor != 1)
        each([by = static_cast<Sum>(ensemble_.divisor)](Sum& sum) { sum /= by; });
    }
    for (int row = 0; row < n_ && ensemble_.link != Link::kNone; ++row) {
      apply(ensemble_.link, ensemble_.link_scale, sums(0) + row, ensemble_.outputs, stride_);
    }
    for (std::size_t k = 0; k < ensemble_.outputs; ++k) {
      if (answers_[k].dtype == DType::kF32) {
        write<float>(k);
      } else {
        write<double>(k);
      }
    }
  }

  template <class Value>
  double see(Value value) const {
    return seen(value, ensemble_.features);
  }

  std::uint32_t bin_in_set(const Feature& set, double value) const {
    const CategorySet& categories = ensemble_.sets[static_cast<std::size_t>(set.set)];
    return is_in_set(value, set.cut_first, categories, ensemble_.set_words.data()) ? 1 : 0;
  }

  /// Bins of all features of a column, for trees that are followed.
  template <class Value>
  void bins_of_column(std::size_t used, const Value* values) {
    const auto& all = std::get<std::vector<Value>>(forest_.questions.columns[used].thresholds);
    const auto size = static_cast<std::uint32_t>(all.size());
    for (int i = 0; i < n_; ++i) {
      const Value value = values[i];
      const std::uint32_t bin = bin_of(value, all.data(), size);
      for (const std::uint32_t f : forest_.features_of[used]) {
        const Feature& feature = forest_.questions.features[f];
        std::uint32_t& place = mine_.bins[f * stride_ + static_cast<std::size_t>(i)];
        if (is_missing(see(value), feature.missing)) {
          place = missing_goes_right(feature.missing) ? kMissingBin : 0;
        } else {
          place = feature.is_set() ? bin_in_set(feature, see(value)) : bin;
        }
      }
    }
  }

  /// `action` with a value of the type in which a column is compared.
  template <class Action>
  void in_domain(std::size_t used, const Action& action) {
    switch (domain_of(forest_.questions.columns[used].dtype)) {
      case Domain::kFloat:
        return action(float{});
      case Domain::kDouble:
        return action(double{});
      case Domain::kInt64:
        return action(std::int64_t{});
    }
  }

  const Compiled& forest_;
  const Ensemble& ensemble_;
  std::span<const Column> columns_;
  std::span<const AnswerColumn> answers_;
  Workspace& mine_ = Workspace::of_this_thread();
  std::size_t stride_;      ///< rows that there is memory for
  std::int64_t first_ = 0;  ///< row that is worked on
  int n_ = 0;               ///< rows

 private:
  template <class Element>
  void write(std::size_t output) {
    const AnswerColumn& answer = answers_[output];
    auto* const elements = reinterpret_cast<Element*>(answer.first);
    for (int i = 0; i < n_; ++i) {
      elements[(first_ + i) * answer.stride] = static_cast<Element>(sums(output)[i]);
    }
  }
};

}  // namespace tensoa::forest
