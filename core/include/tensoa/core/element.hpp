// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "tensoa/core/dtype.hpp"

/// @file
/// The values of single elements whose dtype is known at run time. Compiled for the host and for GPUs.

#if defined(__CUDACC__) || defined(__HIPCC__)
#define TENSOA_HOST_DEVICE __host__ __device__
#else
#define TENSOA_HOST_DEVICE
#endif

namespace tensoa {

TENSOA_HOST_DEVICE inline float float_of(Half value) {
  const std::uint32_t sign = (value.bits & 0x8000U) << 16U;
  const std::uint32_t exponent = (value.bits >> 10U) & 0x1FU;
  const std::uint32_t fraction = value.bits & 0x3FFU;
  if (exponent == 0) {  // fraction times 2^-24
    const float tiny = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -tiny : tiny;
  }
  const std::uint32_t wide = exponent == 0x1F ? 0xFFU : exponent + 112U;
  return std::bit_cast<float>(sign | wide << 23U | fraction << 13U);
}

TENSOA_HOST_DEVICE inline float float_of(BFloat16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16U);
}

TENSOA_HOST_DEVICE inline Half half_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16U & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFF'FFFFU;
  std::uint32_t half = 0;
  if (magnitude > 0x7F80'0000U) {
    half = 0x7E00U | (magnitude >> 13U & 0x1FFU);  // not a number
  } else if (magnitude >= 0x477F'F000U) {
    half = 0x7C00U;  // infinite, or nearer to 2^16 than to the largest
  } else if (magnitude < 0x3880'0000U) {
    // Below 2^-14, in steps of 2^-24: adding 0.5 puts the rounded steps into the lowest bits.
    half = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3F00'0000U;
  } else {
    half = (magnitude - 0x3800'0000U + 0xFFFU + (magnitude >> 13U & 1U)) >> 13U;
  }
  return {static_cast<std::uint16_t>(sign | half)};
}

TENSOA_HOST_DEVICE inline BFloat16 bfloat16_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFF'FFFFU) > 0x7F80'0000U) {
    return {static_cast<std::uint16_t>(bits >> 16U | 0x40U)};
  }
  return {static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16U & 1U)) >> 16U)};
}

/// The value of an element as a type with arithmetic: Half and BFloat16 as float, other types unchanged.
template <class T>
TENSOA_HOST_DEVICE auto number_of(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return float_of(value);
  } else {
    return value;
  }
}

/// The value of an element as an element of type `To`: to bool whether it is not 0, to Half and BFloat16 rounded to
/// the nearest, from floating point to an integer without its fraction, or 0 if int64 cannot hold it.
template <class To, class From>
TENSOA_HOST_DEVICE To converted(From element) {
  if constexpr (std::is_same_v<To, From>) {
    return element;
  } else {
    const auto number = number_of(element);
    using Number = decltype(number);
    if constexpr (std::is_same_v<To, bool>) {
      return number != 0;
    } else if constexpr (std::is_same_v<To, Half>) {
      return half_of(static_cast<float>(number));
    } else if constexpr (std::is_same_v<To, BFloat16>) {
      return bfloat16_of(static_cast<float>(number));
    } else if constexpr (std::is_integral_v<To> &&
                         std::is_floating_point_v<std::remove_cv_t<Number>>) {
      // A cast of what int64 cannot hold is undefined.
      const bool fits =
          number >= static_cast<Number>(-0x1p63) && number < static_cast<Number>(0x1p63);
      return static_cast<To>(fits ? static_cast<std::int64_t>(number) : std::int64_t{0});
    } else {
      return static_cast<To>(number);
    }
  }
}

/// Calls `action` with a value-initialised object of the C++ type of `dtype`.
template <class Action>
TENSOA_HOST_DEVICE void with_type(DType dtype, const Action& action) {
  switch (dtype) {
    case DType::kBool:
      return action(bool{});
    case DType::kU8:
      return action(std::uint8_t{});
    case DType::kI8:
      return action(std::int8_t{});
    case DType::kI16:
      return action(std::int16_t{});
    case DType::kI32:
      return action(std::int32_t{});
    case DType::kI64:
      return action(std::int64_t{});
    case DType::kF16:
      return action(Half{});
    case DType::kBF16:
      return action(BFloat16{});
    case DType::kF32:
      return action(float{});
    case DType::kF64:
      return action(double{});
  }
}

}  // namespace tensoa
