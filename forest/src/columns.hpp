// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "compile/questions.hpp"
#include "compile/thresholds.hpp"
#include "kernels/block_kernels.hpp"
#include "kernels/hints.hpp"
#include "tensoa/core/element.hpp"
#include "tensoa/forest/forest.hpp"

// Values of the caller's columns, in the domain of the column.

namespace tensoa::forest {

template <class Value>
void read_values(const Column& column, std::int64_t first, int n, Value* values) {
  tensoa::with_type(column.dtype, [&]<class Element>(Element /*of the column*/) {
    // No column of int64 is read as float.
    if constexpr (!std::is_same_v<Element, std::int64_t> || !std::is_same_v<Value, float>) {
      const auto* const elements = reinterpret_cast<const Element*>(column.first);
      for (int i = 0; i < n; ++i) {
        values[i] = static_cast<Value>(tensoa::number_of(elements[(first + i) * column.stride]));
      }
    }
  });
}

/// A value as the framework sees it.
template <class Value>
constexpr double seen(Value value, Precision features) noexcept {
  return features == Precision::kFloat32 ? double{static_cast<float>(value)}
                                         : static_cast<double>(value);
}

/// Whether a value, as seen, goes where `missing` says, and not to a bin.
constexpr bool is_missing(double value, Missing missing) noexcept {
  return value != value || (zero_is_missing(missing) && value >= -double{kLightgbmZero} &&
                            value <= double{kLightgbmZero});
}

/// How many thresholds are not above `value`, which is a number.
template <class Value>
constexpr std::uint32_t bin_of(Value value, const Value* thresholds, std::uint32_t size) noexcept {
  std::uint32_t bin = 0;
  TENSOA_NO_UNROLL
  for (std::uint32_t left = size; left > 0;) {
    const std::uint32_t half = (left + 1) / 2;
    bin += thresholds[bin + half - 1] <= value ? half : 0;  // no jump that has to be guessed
    left -= half;
  }
  return bin;
}

/// Whether category `value`, not missing, is in `set`.
constexpr bool is_in_set(double value, bool cut_first, const CategorySet& set,
                         const std::uint64_t* words) noexcept {
  const double categories = 64.0 * set.words;
  if (!(value < categories) || !(cut_first ? value > -1 : value >= 0)) return false;
  const auto category = static_cast<std::uint32_t>(value);  // cut towards 0
  return (words[set.first_word + category / 64] >> category % 64 & 1U) != 0;
}

}  // namespace tensoa::forest
