// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensoa/core/impl/cpp20.hpp"  // first

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace tensoa {

/// IEEE 754 binary16 as stored in memory; no arithmetic.
struct Half {
  std::uint16_t bits;
};

/// bfloat16 as stored in memory; no arithmetic.
struct BFloat16 {
  std::uint16_t bits;
};

/// The element types that a tensor may have.
enum class DType : std::uint8_t { kBool, kU8, kI8, kI16, kI32, kI64, kF16, kBF16, kF32, kF64 };

/// Size of one element in bytes.
constexpr std::size_t size_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::kBool:
    case DType::kU8:
    case DType::kI8:
      return 1;
    case DType::kI16:
    case DType::kF16:
    case DType::kBF16:
      return 2;
    case DType::kI32:
    case DType::kF32:
      return 4;
    case DType::kI64:
    case DType::kF64:
      return 8;
  }
  return 0;
}

/// Name as torch spells it: "float32", "int64", "bool".
constexpr std::string_view name_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::kBool:
      return "bool";
    case DType::kU8:
      return "uint8";
    case DType::kI8:
      return "int8";
    case DType::kI16:
      return "int16";
    case DType::kI32:
      return "int32";
    case DType::kI64:
      return "int64";
    case DType::kF16:
      return "float16";
    case DType::kBF16:
      return "bfloat16";
    case DType::kF32:
      return "float32";
    case DType::kF64:
      return "float64";
  }
  return "unknown";
}

namespace detail {
template <class T>
struct DTypeOf;  // an element type that no tensor has is a compile error here
template <DType kValue>
struct DTypeConstant {
  static constexpr DType value = kValue;
};
template <>
struct DTypeOf<bool> : DTypeConstant<DType::kBool> {};
template <>
struct DTypeOf<std::uint8_t> : DTypeConstant<DType::kU8> {};
template <>
struct DTypeOf<std::int8_t> : DTypeConstant<DType::kI8> {};
template <>
struct DTypeOf<std::int16_t> : DTypeConstant<DType::kI16> {};
template <>
struct DTypeOf<std::int32_t> : DTypeConstant<DType::kI32> {};
template <>
struct DTypeOf<std::int64_t> : DTypeConstant<DType::kI64> {};
template <>
struct DTypeOf<Half> : DTypeConstant<DType::kF16> {};
template <>
struct DTypeOf<BFloat16> : DTypeConstant<DType::kBF16> {};
template <>
struct DTypeOf<float> : DTypeConstant<DType::kF32> {};
template <>
struct DTypeOf<double> : DTypeConstant<DType::kF64> {};
}  // namespace detail

/// A C++ type that a column may hold: bool, (u)int8, int16/32/64, Half, BFloat16, float, double.
template <class T>
concept Element = requires { detail::DTypeOf<std::remove_const_t<T>>::value; };

/// The DType of a C++ element type, const or not.
template <Element T>
inline constexpr DType kDTypeOf = detail::DTypeOf<std::remove_const_t<T>>::value;

}  // namespace tensoa
