// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
/// Numbers of columns.

#include "doubles.hpp"

namespace {

struct Half {
  std::uint16_t bits;
};
struct BFloat {
  std::uint16_t bits;
};
inline float number(Half x) { return _cvtsh_ss(x.bits); }
inline float number(BFloat x) {
  const std::uint32_t wide = static_cast<std::uint32_t>(x.bits) << 16;
  float result;
  std::memcpy(&result, &wide, sizeof(result));
  return result;
}

/// A number as an element of a column.
template <class T>
inline T element(float x) {
  if constexpr (std::is_same_v<T, Half>) {
    return {_cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT)};
  } else {
    const std::int32_t wide = bits(f_to_bfloat16(all(x)))[0];
    return {static_cast<std::uint16_t>(wide >> 16)};
  }
}

}  // namespace
