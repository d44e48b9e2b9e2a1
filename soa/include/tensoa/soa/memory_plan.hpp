// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "tensoa/core/memory.hpp"
#include "tensoa/soa/fields.hpp"

/// @file
/// Where the columns of a layout lie in one allocation.
///
/// Columns are grouped by element size (8, 4, 2, 1 bytes), in declaration order inside a group,
/// scalars last. Every plane starts on a line of kAlignment bytes, and the planes of a group follow
/// each other at one pitch, which comes from the capacity. So the distance between any two columns
/// of one element size is a multiple of that pitch, and any equally spaced choice of them is one
/// strided tensor.

namespace tensoa {

/// Bytes from one plane to the next: `capacity` elements, rounded up to whole lines. At least one
/// line, so that columns of an empty collection still differ in address.
constexpr std::size_t plane_bytes(std::size_t element_size, std::size_t capacity) noexcept {
  return std::max(kAlignment, (capacity * element_size + kAlignment - 1) / kAlignment * kAlignment);
}

namespace detail {

/// The fields of a layout in the order of their addresses.
template <template <template <class> class> class Layout>
constexpr auto order_fields() {
  std::array<std::size_t, kFieldCount<Layout>> order{};
  for (std::size_t field = 0; field < order.size(); ++field) order[field] = field;
  std::sort(order.begin(), order.end(), [](std::size_t a, std::size_t b) {
    const FieldInfo& left = kFieldInfo<Layout>[a];
    const FieldInfo& right = kFieldInfo<Layout>[b];
    if (left.is_scalar() != right.is_scalar()) return right.is_scalar();
    if (left.element_size() != right.element_size()) {
      return left.element_size() > right.element_size();
    }
    return a < b;
  });
  return order;
}

template <template <template <class> class> class Layout>
constexpr std::size_t count_planes() {
  std::size_t planes = 0;
  for (const FieldInfo& info : kFieldInfo<Layout>) planes += info.planes();
  return planes;
}

}  // namespace detail

/// Elements from one plane to the next in the group of `element_size` bytes.
constexpr std::size_t pitch_of(std::size_t element_size, std::size_t capacity) noexcept {
  return plane_bytes(element_size, capacity) / element_size;
}

/// Offsets of the columns of `Layout` for one capacity, at most kMaxCapacity.
template <template <template <class> class> class Layout>
struct MemoryPlan {
  /// Most rows, so that no product or sum of a plan overflows, nor the sum over the blocks of a
  /// collection: an allocation stays below 2^57 bytes.
  static constexpr std::size_t kMaxCapacity =
      (std::size_t{1} << 56U) / (8 * detail::count_planes<Layout>());

  std::size_t bytes = 0;  ///< of the whole allocation
  std::array<std::size_t, kFieldCount<Layout>>
      offset_of{};  ///< in bytes, of the first plane of each field

  constexpr explicit MemoryPlan(std::size_t capacity) noexcept {
    [&]<std::size_t... kStep>(std::index_sequence<kStep...>) {
      (place<kOrder[kStep]>(capacity), ...);
    }(std::make_index_sequence<kFieldCount<Layout>>{});
  }

 private:
  template <std::size_t kField>
  constexpr void place(std::size_t capacity) noexcept {
    constexpr FieldInfo kInfo = kFieldInfo<Layout>[kField];
    offset_of[kField] = bytes;
    bytes += kInfo.planes() * plane_bytes(kInfo.element_size(), kInfo.is_scalar() ? 1 : capacity);
  }
  static constexpr std::array<std::size_t, kFieldCount<Layout>> kOrder =
      detail::order_fields<Layout>();
};

namespace detail {

/// The answer of proves_layout for any plan; tests pass wrong ones.
template <template <template <class> class> class Layout>
constexpr bool is_sound(const MemoryPlan<Layout>& plan, std::size_t capacity) noexcept {
  struct Extent {
    bool is_scalar;
    std::size_t element_size, pitch, begin, end;  // pitch, begin and end in bytes
  };
  const auto extent_of = [&](std::size_t field) {
    const FieldInfo& info = kFieldInfo<Layout>[field];
    const bool is_scalar = info.is_scalar();
    const std::size_t size = info.element_size();
    const std::size_t pitch = pitch_of(size, is_scalar ? 1 : capacity) * size;
    const std::size_t begin = plan.offset_of[field];
    return Extent{is_scalar, size, pitch, begin, begin + info.planes() * pitch};
  };
  if (plan.bytes % kAlignment != 0) return false;
  for (std::size_t field = 0; field < kFieldCount<Layout>; ++field) {
    const Extent a = extent_of(field);
    const bool has_room = a.pitch / a.element_size >= (a.is_scalar ? 1 : capacity);
    const bool is_aligned = a.begin % kAlignment == 0 && a.pitch % kAlignment == 0;
    if (!has_room || !is_aligned || a.end > plan.bytes) return false;
    for (std::size_t other = 0; other < field; ++other) {
      const Extent b = extent_of(other);
      if (a.begin < b.end && b.begin < a.end) return false;
      const bool is_of_one_group = !a.is_scalar && !b.is_scalar && a.element_size == b.element_size;
      const std::size_t distance = a.begin < b.begin ? b.begin - a.begin : a.begin - b.begin;
      if (is_of_one_group && distance % a.pitch != 0) return false;
    }
  }
  return true;
}

}  // namespace detail

/// Whether a collection of `Layout` with this capacity has what all zero-copy tensors rest on: no
/// two columns overlap and all lie inside the allocation, every plane starts on a line of kAlignment
/// bytes and has room for all rows, and the planes of one element size lie at multiples of one
/// pitch. True for every layout; for users who want to see it proved for theirs:
///
///     static_assert(proves_layout<Hit>(100));
template <template <template <class> class> class Layout>
constexpr bool proves_layout(std::size_t capacity) noexcept {
  return detail::is_sound(MemoryPlan<Layout>(capacity), capacity);
}

}  // namespace tensoa
