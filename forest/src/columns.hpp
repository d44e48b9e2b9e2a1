// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "questions.hpp"
#include "tensoa/core/impl/element.hpp"
#include "tensoa/forest/forest.hpp"
#include "thresholds.hpp"

// Values of the caller's columns, in the domain of the column.

namespace tensoa::forest {

template <class Value>
void read_values(const Column& column, std::int64_t first, int n, Value* values) {
  tensoa::detail::with_type(column.dtype, [&]<class Element>(Element /*of the column*/) {
    // No column of int64 is read as float.
    if constexpr (!std::is_same_v<Element, std::int64_t> || !std::is_same_v<Value, float>) {
      const auto* const elements = reinterpret_cast<const Element*>(column.first);
      for (int i = 0; i < n; ++i) {
        values[i] =
            static_cast<Value>(tensoa::detail::number_of(elements[(first + i) * column.stride]));
      }
    }
  });
}

/// A value as the framework sees it.
template <class Value>
double seen(Value value, Precision features) noexcept {
  return features == Precision::kFloat32 ? double{static_cast<float>(value)}
                                         : static_cast<double>(value);
}

/// Whether a value, as seen, goes where `missing` says, and not to a bin.
inline bool is_missing(double value, Missing missing) noexcept {
  return value != value || (zero_is_missing(missing) && value >= -double{kLightgbmZero} &&
                            value <= double{kLightgbmZero});
}

/// How many thresholds are not above `value`, which is a number.
template <class Value>
std::uint32_t bin_of(Value value, std::span<const Value> thresholds) noexcept {
  const Value* first = thresholds.data();
  for (std::size_t left = thresholds.size(); left > 0;) {
    const std::size_t half = (left + 1) / 2;
    first += first[half - 1] <= value ? half : 0;  // no jump that has to be guessed
    left -= half;
  }
  return static_cast<std::uint32_t>(first - thresholds.data());
}

}  // namespace tensoa::forest
