// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "call.hpp"
#include "kernels/block_kernels.hpp"

namespace tensoa::forest {

/// Rows in blocks of bits.
template <class Sum>
class BlockCall : Call<Sum> {
 public:
  BlockCall(const Compiled& forest, std::span<const Column> columns,
            std::span<const AnswerColumn> answers, const BlockKernels& kernels)
      : Call<Sum>(forest, columns, answers,
                  std::size_t{64} * static_cast<std::size_t>(kernels.words)),
        kernels_(kernels),
        words_(static_cast<std::size_t>(kernels.words)) {
    Workspace::at_least(this->mine_.tests, forest.blocks.tests * words_);
    std::fill_n(this->mine_.tests.begin(), words_, 0);  // the test that is never true
    Workspace::at_least(this->mine_.slots, forest.blocks.most_slots * words_);
  }

  void run(std::int64_t rows) {
    const auto most = static_cast<std::int64_t>(this->stride_);
    for (this->first_ = 0; this->first_ < rows; this->first_ += most) {
      this->n_ = static_cast<int>(std::min(rows - this->first_, most));
      ask();
      this->begin_sums();
      for (const BlockTree& tree : this->forest_.blocks.trees) add_tree(tree);
      this->end_sums();
    }
  }

 private:
  /// Answers all questions about the rows of a block.
  void ask() {
    for (std::size_t used = 0; used < this->forest_.questions.columns.size(); ++used) {
      this->in_domain(used, [&]<class Value>(Value) { ask_column<Value>(used); });
    }
    for (const SetTest& test : this->forest_.blocks.set_tests) ask_set(test);
  }

  template <class Value>
  void ask_column(std::size_t used) {
    alignas(64) Value staged[kMostRows];
    const Column& column = this->caller_column(used);
    const Value* values = staged;
    if constexpr (std::is_same_v<Value, float>) {
      // Kernels read 16 values at a time.
      if (column.stride == 1 && column.dtype == DType::kF32 && this->n_ % 16 == 0) {
        values = reinterpret_cast<const float*>(column.first) + this->first_;
      }
    }
    if (values == staged) {
      read_values(column, this->first_, this->n_, staged);
      std::fill(staged + this->n_, staged + (this->n_ + 15) / 16 * 16, Value{0});
    }
    for (const Page& page : this->forest_.blocks.pages[used]) {
      for (const bool zero : {false, true}) ask_page(used, page, values, zero);
    }
    if (this->forest_.follows_in_blocks) this->bins_of_column(used, values);
  }

  template <class Value>
  void ask_page(std::size_t used, const Page& page, const Value* values, bool zero) {
    bool has_bins = false;
    for (const Page::Questioned& questioned : page.questioned) {
      if (zero_is_missing(questioned.missing) != zero) continue;
      if (!has_bins) {
        if constexpr (std::is_same_v<Value, float>) {
          kernels_.quantise(values, this->n_, this->forest_.blocks.searches.data() + page.table,
                            page.levels, zero, left_.data(), right_.data());
        } else {
          const auto& all =
              std::get<std::vector<Value>>(this->forest_.questions.columns[used].thresholds);
          for (int i = 0; i < this->n_; ++i) {
            set_bin(i,
                    is_missing(this->see(values[i]), zero ? Missing::kZeroLeft : Missing::kNanLeft),
                    [&] { return bin_of(values[i], all.data() + page.first, page.size); });
          }
        }
        has_bins = true;
      }
      const auto& bins = missing_goes_right(questioned.missing) ? right_ : left_;
      kernels_.compare(bins.data(), questioned.bins.data(), questioned.bins.size(),
                       this->mine_.tests.data() + std::size_t{questioned.first_test} * words_);
    }
  }

  template <class Bin>
  void set_bin(int row, bool is_missing, const Bin& bin) {
    const auto byte = is_missing ? std::uint8_t{0} : static_cast<std::uint8_t>(bin());
    left_[static_cast<std::size_t>(row)] = byte;
    right_[static_cast<std::size_t>(row)] = is_missing ? kMissingByte : byte;
  }

  void ask_set(const SetTest& test) {
    const Feature& set = this->forest_.questions.features[test.feature];
    std::array<double, kMostRows> values;
    read_values(this->caller_column(set.column), this->first_, this->n_, values.data());
    for (int i = 0; i < this->n_; ++i) {
      const double value = this->see(values[static_cast<std::size_t>(i)]);
      set_bin(i, is_missing(value, set.missing), [&] { return this->bin_in_set(set, value); });
    }
    constexpr std::uint8_t kIsIn = 1;
    kernels_.compare((missing_goes_right(set.missing) ? right_ : left_).data(), &kIsIn, 1,
                     this->mine_.tests.data() + std::size_t{test.test} * words_);
  }

  void add_tree(const BlockTree& tree) {
    if (tree.form == BlockTree::Form::kFollowed) {
      add_followed(tree);
      return;
    }
    std::uint64_t* const planes = planes_.data();
    const auto place = static_cast<std::size_t>(tree.planes - 1);
    if (tree.form == BlockTree::Form::kFull) {
      kernels_.select[place](this->mine_.tests.data(),
                             this->forest_.blocks.nodes.data() + tree.first, planes);
    } else {
      kernels_.reach(this->mine_.tests.data(), this->forest_.blocks.reach_nodes.data() + tree.first,
                     tree.size, this->forest_.blocks.slots_of_planes.data() + tree.slots, tree.ends,
                     tree.planes, this->mine_.slots.data(), planes);
    }
    for (std::size_t k = 0; k < this->ensemble_.leaf_size; ++k) {
      const std::size_t leaves = tree.leaves + k * tree.leaf_stride;
      if constexpr (std::is_same_v<Sum, float>) {
        kernels_.add_float[place](planes, this->n_,
                                  this->forest_.blocks.float_leaves.data() + leaves,
                                  this->sums(tree.output + k));
      } else {
        kernels_.add_double[place](planes, this->n_,
                                   this->forest_.blocks.double_leaves.data() + leaves,
                                   this->sums(tree.output + k));
      }
    }
  }

  void add_followed(const BlockTree& tree) {
    constexpr int kLanes = 8;
    const FollowedNode* const nodes = this->forest_.followed.nodes.data();
    const FollowedTree& followed = this->forest_.followed.trees[tree.first];
    const Sum* const values = this->leaf_values();
    std::uint32_t at[kLanes];
    for (int row = 0; row < this->n_; row += kLanes) {
      std::fill_n(at, kLanes, followed.root);
      // Rows that are not there have bins of an earlier block.
      follow<kLanes, Lanes::kRows>(nodes, followed.depth, this->mine_.bins.data() + row,
                                   this->stride_, at);
      const int end = std::min(kLanes, this->n_ - row);
      for (std::size_t k = 0; k < this->ensemble_.leaf_size; ++k) {
        for (int i = 0; i < end; ++i) {
          this->sums(tree.output + k)[row + i] += values[nodes[at[i]].right + k];
        }
      }
    }
  }

  const BlockKernels& kernels_;
  std::size_t words_;  ///< of a test
  alignas(64) std::array<std::uint8_t, kMostRows> left_{};
  alignas(64) std::array<std::uint8_t, kMostRows> right_{};
  alignas(64) std::array<std::uint64_t, std::size_t{kMostPlanes} * kMostWords> planes_;
};

}  // namespace tensoa::forest
