// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tensoa/core/dtype.hpp"
#include "tensoa/core/element.hpp"
#include "tensoa/core/tensor_view.hpp"

// Common parts of strided_copy() and its kernels. Compiled for the host and for GPUs.

namespace tensoa::detail {

/// A copy with as few dimensions as it takes, the innermost first: none of one element, and none that
/// goes on where the one before ends. At least one dimension, at least one element.
struct StridedCopy {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  DType to_dtype = DType::kF32;
  DType from_dtype = DType::kF32;
  std::uint8_t rank = 1;
  std::array<std::int64_t, kMaxRank> sizes{1, 1, 1, 1};
  std::array<std::int64_t, kMaxRank> to_strides{1, 0, 0, 0};  ///< in elements
  std::array<std::int64_t, kMaxRank> from_strides{1, 0, 0, 0};

  TENSOA_HOST_DEVICE std::int64_t elements() const noexcept {
    return sizes[0] * sizes[1] * sizes[2] * sizes[3];
  }

  /// Whether the elements of the innermost dimension lie side by side, and stay what they are.
  bool has_rows() const noexcept {
    return to_dtype == from_dtype && to_strides[0] == 1 && from_strides[0] == 1;
  }
};

/// Copies of one kernel: the number that fits the 4096 bytes of its parameters.
using CopiesOfKernel = std::array<StridedCopy, 32>;
static_assert(sizeof(CopiesOfKernel) <= 4096);

/// In the calling thread.
void copy_on_cpu(const StridedCopy& copy);

/// Calls `action` with an integer of the size of an element of `dtype`.
template <class Action>
TENSOA_HOST_DEVICE void with_bits(DType dtype, const Action& action) {
  switch (size_of(dtype)) {
    case 1:
      return action(std::uint8_t{});
    case 2:
      return action(std::uint16_t{});
    case 4:
      return action(std::uint32_t{});
    default:
      return action(std::uint64_t{});
  }
}

/// Calls `action` with a value of the type to write and one of the type to read: integers where nothing
/// is converted.
template <class Action>
TENSOA_HOST_DEVICE void with_types(DType to, DType from, const Action& action) {
  if (to == from) {
    with_bits(to, [&](auto bits) { action(bits, bits); });
  } else {
    with_type(to, [&](auto to_type) {
      with_type(from, [&](auto from_type) { action(to_type, from_type); });
    });
  }
}

/// An element of any dtype, without loss: a kernel then has one way in for each dtype and one way out, not
/// one for each pair, which took minutes to compile.
struct AnyNumber {
  std::int64_t whole = 0;
  double real = 0;
  bool is_real = false;
};

TENSOA_HOST_DEVICE inline AnyNumber load_number(DType dtype, const std::byte* from) {
  AnyNumber number;
  with_type(dtype, [&](auto type) {
    const auto value = number_of(*reinterpret_cast<const decltype(type)*>(from));
    number.is_real = std::is_floating_point_v<std::remove_cv_t<decltype(value)>>;
    if (number.is_real) {
      number.real = static_cast<double>(value);
    } else {
      // NOLINTNEXTLINE(bugprone-signed-char-misuse): int8 is a number
      number.whole = static_cast<std::int64_t>(value);
    }
  });
  return number;
}

TENSOA_HOST_DEVICE inline void store_number(DType dtype, std::byte* to, const AnyNumber& number) {
  with_type(dtype, [&](auto type) {
    using To = decltype(type);
    *reinterpret_cast<To*>(to) =
        number.is_real ? converted<To>(number.real) : converted<To>(number.whole);
  });
}

/// Copies element number `i`, counted from the innermost dimension: what a thread of the kernel does.
TENSOA_HOST_DEVICE inline void write_element(const StridedCopy& copy, std::int64_t i) {
  std::int64_t to_place = 0;
  std::int64_t from_place = 0;
  for (std::size_t dim = 0; dim < copy.rank; ++dim) {
    const std::int64_t size = copy.sizes[dim];
    const std::int64_t rest = dim + 1 < copy.rank ? i / size : 0;
    to_place += (i - rest * size) * copy.to_strides[dim];
    from_place += (i - rest * size) * copy.from_strides[dim];
    i = rest;
  }
  std::byte* const to = copy.to + to_place * static_cast<std::int64_t>(size_of(copy.to_dtype));
  const std::byte* const from =
      copy.from + from_place * static_cast<std::int64_t>(size_of(copy.from_dtype));
  if (copy.to_dtype != copy.from_dtype) {
    store_number(copy.to_dtype, to, load_number(copy.from_dtype, from));
    return;
  }
  with_bits(copy.to_dtype, [&](auto bits) {
    using Bits = decltype(bits);
    *reinterpret_cast<Bits*>(to) = *reinterpret_cast<const Bits*>(from);
  });
}

}  // namespace tensoa::detail
