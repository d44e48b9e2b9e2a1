// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "tensoa/core/dtype.hpp"
#include "tensoa/forest/ensemble.hpp"

// Thresholds in the type of the column, so that columns are compared where they lie: rounding a value to what the framework
// compares never changes the order of two values, so there is a smallest value that goes right.

namespace tensoa::forest {

/// A type that holds every value of a column exactly: float for float32 and what is narrower.
enum class Domain : std::uint8_t { kFloat, kDouble, kInt64 };

constexpr Domain domain_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::kI64:
      return Domain::kInt64;
    case DType::kI32:
    case DType::kF64:
      return Domain::kDouble;
    default:
      return Domain::kFloat;
  }
}

/// The type of the domain of the values of an Element.
template <class Element>
using DomainType = std::conditional_t<
    std::is_same_v<Element, std::int64_t>, std::int64_t,
    std::conditional_t<std::is_same_v<Element, std::int32_t> || std::is_same_v<Element, double>,
                       double, float>>;

namespace detail {

/// Numbers as integers of the same order: -0 comes just before +0.
template <class Value>
struct Ordered {
  using Key = std::conditional_t<sizeof(Value) == 4, std::int32_t, std::int64_t>;
  static constexpr Key kMagnitude = std::numeric_limits<Key>::max();

  static Key key_of(Value value) noexcept {
    const auto bits = std::bit_cast<Key>(value);
    return bits < 0 ? bits ^ kMagnitude : bits;
  }
  static Value value_of(Key key) noexcept {
    return std::bit_cast<Value>(key < 0 ? key ^ kMagnitude : key);
  }
  static Key first() noexcept { return key_of(-std::numeric_limits<Value>::infinity()); }
  static Key last() noexcept { return key_of(std::numeric_limits<Value>::infinity()); }
};

template <>
struct Ordered<std::int64_t> {
  using Key = std::int64_t;
  static std::int64_t value_of(Key key) noexcept { return key; }
  static Key first() noexcept { return std::numeric_limits<Key>::min(); }
  static Key last() noexcept { return std::numeric_limits<Key>::max(); }
};

template <class Value>
bool goes_right(Value value, Test test, double threshold, Precision features) noexcept {
  const double seen = features == Precision::kFloat32
                          ? static_cast<double>(static_cast<float>(value))
                          : static_cast<double>(value);
  return test == Test::kGreater ? seen > threshold : seen >= threshold;
}

}  // namespace detail

/// The smallest value that goes right; none where none does.
template <class Value>
std::optional<Value> smallest_right(Test test, double threshold, Precision features) noexcept {
  using Order = detail::Ordered<Value>;
  using Key = typename Order::Key;
  Key low = Order::first();
  Key high = Order::last();
  if (!detail::goes_right(Order::value_of(high), test, threshold, features)) return {};
  while (low < high) {
    // The difference may not fit the type.
    const auto distance = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    const auto middle = static_cast<Key>(static_cast<std::uint64_t>(low) + distance / 2);
    if (detail::goes_right(Order::value_of(middle), test, threshold, features)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return Order::value_of(low);
}

constexpr bool zero_is_missing(Missing missing) noexcept {
  return missing == Missing::kZeroLeft || missing == Missing::kZeroRight;
}

constexpr bool missing_goes_right(Missing missing) noexcept {
  return missing == Missing::kNanRight || missing == Missing::kZeroRight;
}

}  // namespace tensoa::forest
