// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tensoa/core/device.hpp"
#include "tensoa/core/dtype.hpp"

namespace tensoa {

/// The most dimensions that bound columns can have: [n, k, R, C].
inline constexpr std::size_t kMaxRank = 4;

/// A non-owning strided tensor. A plain value, nothing is copied.
///
/// *Lifetime*: the memory must outlive the view and all work that was enqueued on it.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::kF32;
  Device device;
  bool read_only = false;  ///< the owner handed the memory out as const
  std::uint8_t rank = 0;
  std::array<std::int64_t, kMaxRank> size_of_dim{};    ///< in elements
  std::array<std::int64_t, kMaxRank> stride_of_dim{};  ///< in elements; 0 = broadcast

  std::span<const std::int64_t> sizes() const noexcept { return {size_of_dim.data(), rank}; }
  std::span<const std::int64_t> strides() const noexcept { return {stride_of_dim.data(), rank}; }

  /// Number of elements; 1 for rank 0.
  constexpr std::int64_t elements() const noexcept {
    std::int64_t product = 1;
    for (std::size_t dim = 0; dim < rank; ++dim) product *= size_of_dim[dim];
    return product;
  }

  /// Bytes that the elements take when packed.
  constexpr std::size_t bytes() const noexcept {
    return static_cast<std::size_t>(elements()) * size_of(dtype);
  }
};

/// Addresses from `begin` up to `end`.
struct Extent {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;

  constexpr std::size_t bytes() const noexcept { return end - begin; }

  /// Whether some byte is in both; never for an empty one.
  constexpr bool overlaps(const Extent& other) const noexcept {
    return std::max(begin, other.begin) < std::min(end, other.end);
  }
};

/// From the first element of a strided tensor to the end of its last; empty without elements.
/// @param sizes,strides in elements, one of each for each dimension; no negative strides
Extent extent_of(const void* data, std::span<const std::int64_t> sizes,
                 std::span<const std::int64_t> strides, std::size_t element_size) noexcept;

Extent extent_of(const TensorView& view) noexcept;

/// Gives `view` the strides of a packed row-major tensor of its sizes.
/// @return whether its bytes can be counted in 63 bits; if not, the strides mean nothing
bool make_row_major(TensorView& view) noexcept;

/// "float32[1000, 3] on cuda:0": for messages.
std::string to_string(const TensorView& view);

}  // namespace tensoa
