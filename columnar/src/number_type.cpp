// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/columnar/number_type.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tensoa::columnar {
namespace {

/// The numbers of a type: integers below 2^digits, also negative ones; or floating point of `digits` digits.
struct Range {
  int digits;
  bool is_signed;
  bool is_floating;
};

Range range_of(NumberType type) {
  switch (type) {
    case NumberType::kNone:
      break;
    case NumberType::kBool:
      return {1, false, false};
    case NumberType::kU8:
      return {8, false, false};
    case NumberType::kU16:
      return {16, false, false};
    case NumberType::kU32:
      return {32, false, false};
    case NumberType::kU64:
      return {64, false, false};
    case NumberType::kI8:
      return {7, true, false};
    case NumberType::kI16:
      return {15, true, false};
    case NumberType::kI32:
      return {31, true, false};
    case NumberType::kI64:
      return {63, true, false};
    case NumberType::kF16:
      return {11, true, true};
    case NumberType::kF32:
      return {24, true, true};
    case NumberType::kF64:
      return {53, true, true};
    case NumberType::kDecimal:
      return {std::numeric_limits<int>::max(), true, true};
  }
  return {};
}

NumberType type_of(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return NumberType::kBool;
    case DType::kU8:
      return NumberType::kU8;
    case DType::kI8:
      return NumberType::kI8;
    case DType::kI16:
      return NumberType::kI16;
    case DType::kI32:
      return NumberType::kI32;
    case DType::kI64:
      return NumberType::kI64;
    case DType::kF16:
      return NumberType::kF16;
    case DType::kF32:
      return NumberType::kF32;
    case DType::kF64:
      return NumberType::kF64;
    case DType::kBF16:
      break;
  }
  return NumberType::kNone;
}

}  // namespace

Conversion conversion(NumberType from, DType to) noexcept {
  const NumberType target = type_of(to);
  if (from == NumberType::kNone || target == NumberType::kNone) return Conversion::kImpossible;
  if (from == target) return Conversion::kNone;
  if (target == NumberType::kBool) return Conversion::kImpossible;
  const Range has = range_of(from);
  const Range needs = range_of(target);
  if (has.is_floating) {
    if (!needs.is_floating) return Conversion::kChecked;
    return has.digits <= needs.digits ? Conversion::kExact : Conversion::kRounds;
  }
  const bool keeps_sign = needs.is_signed || !has.is_signed;
  return keeps_sign && has.digits <= needs.digits ? Conversion::kExact : Conversion::kChecked;
}

std::optional<DType> dtype_of(NumberType type) noexcept {
  switch (type) {
    case NumberType::kBool:
      return DType::kBool;
    case NumberType::kU8:
      return DType::kU8;
    case NumberType::kI8:
      return DType::kI8;
    case NumberType::kI16:
      return DType::kI16;
    case NumberType::kI32:
      return DType::kI32;
    case NumberType::kI64:
      return DType::kI64;
    case NumberType::kF16:
      return DType::kF16;
    case NumberType::kF32:
      return DType::kF32;
    case NumberType::kF64:
      return DType::kF64;
    case NumberType::kNone:
    case NumberType::kU16:
    case NumberType::kU32:
    case NumberType::kU64:
    case NumberType::kDecimal:
      break;
  }
  return {};
}

bool holds(DType type, double value) noexcept {
  const Range range = range_of(type_of(type));
  if (range.is_floating || type == DType::kBF16) {
    if (!std::isfinite(value) || type == DType::kF64) return true;
    constexpr double kMostF16 = 65'520;  // rounded to infinity
    return type == DType::kF16 ? std::abs(value) < kMostF16
                               : std::isfinite(static_cast<float>(value));
  }
  const double end = std::ldexp(1.0, range.digits);
  return value == std::trunc(value) && value < end && value >= (range.is_signed ? -end : 0.0);
}

}  // namespace tensoa::columnar
