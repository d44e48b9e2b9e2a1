// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
/// The order of numbers, as torch has it: what is no number is larger than all, and 0 is -0.

#include "columns.hpp"

namespace {

constexpr std::int32_t kNanKey = 0x7ffffffe, kTakenKey = 0x7fffffff;

/// Integers in the order of the numbers, or in the opposite one; all below kTakenKey.
inline I key_of(V x, bool is_largest) {
  const V number = x + all(0);  // -0 becomes 0
  const I raw = bits(number);
  const I key = raw ^ ((raw >> 31) & whole(0x7fffffff));
  const I ordered = (number == number) ? key : whole(kNanKey);
  return is_largest ? ~ordered : ordered;
}

/// The number of such an integer; of kTakenKey none.
inline V number_of(I key, bool is_largest) {
  const I ordered = is_largest ? ~key : key;
  return from_bits(ordered ^ ((ordered >> 31) & whole(0x7fffffff)));
}

/// The places of the `count` least of `width` numbers, or of the largest. `room`: 2 * width numbers.
inline void order_of(float* y, const float* x, float* room, int width, int count, bool is_largest) {
  // The key, and then the place, are one number.
  using Key [[gnu::may_alias]] = std::int64_t;
  const auto first = reinterpret_cast<Key*>((reinterpret_cast<std::uintptr_t>(room) + 7) / 8 * 8);
  for (int i = 0; i < width; i += kLanes) {
    const I keys = key_of(load(x + i), is_largest);
    for (int lane = 0; lane < std::min(kLanes, width - i); ++lane)
      first[i + lane] = (static_cast<std::int64_t>(keys[lane]) << 32) | (i + lane);
  }
  std::partial_sort(first, first + count, first + width);
  for (int k = 0; k < count; ++k) y[k] = static_cast<float>(first[k] & 0x7fffffff);
}

}  // namespace
