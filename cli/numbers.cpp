// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/numbers.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace tensoa::cli {
namespace {

template <class T>
T load(const std::byte* place) {
  T value;
  std::memcpy(&value, place, sizeof(T));
  return value;
}

double number_of(Half half) {
  const int exponent = half.bits >> 10 & 0x1F;
  const int mantissa = half.bits & 0x3FF;
  const double sign = (half.bits >> 15) != 0 ? -1 : 1;
  if (exponent == 0x1F) {
    return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  }
  return sign *
         (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 0x400, exponent - 25));
}

}  // namespace

double number_at(const std::byte* place, DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kU8:
      return load<std::uint8_t>(place);
    case DType::kI8:
      return load<std::int8_t>(place);
    case DType::kI16:
      return load<std::int16_t>(place);
    case DType::kI32:
      return load<std::int32_t>(place);
    case DType::kI64:
      return static_cast<double>(load<std::int64_t>(place));
    case DType::kF16:
      return number_of(load<Half>(place));
    case DType::kBF16:
      return std::bit_cast<float>(std::uint32_t{load<std::uint16_t>(place)} << 16U);
    case DType::kF32:
      return load<float>(place);
    case DType::kF64:
      return load<double>(place);
  }
  return 0;
}

}  // namespace tensoa::cli
