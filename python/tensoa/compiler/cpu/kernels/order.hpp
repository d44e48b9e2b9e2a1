// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
/// The order of numbers, as torch has it: what is not a number is larger than all, and 0 is -0.

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

}  // namespace
