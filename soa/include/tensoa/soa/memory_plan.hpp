// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

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

/// Elements from one plane to the next in the group of `element_size` bytes: the capacity, rounded
/// up to whole lines. At least one line, so that columns of an empty collection still differ in
/// address.
constexpr std::size_t pitch_of(std::size_t element_size, std::size_t capacity) noexcept {
  const std::size_t line = kAlignment / element_size;
  return std::max<std::size_t>(1, (capacity + line - 1) / line) * line;
}

/// Offsets of the columns of `Layout` for one capacity, at most kMaxCapacity.
template <template <template <class> class> class Layout>
struct MemoryPlan {
  /// Most rows, so that no product or sum of a plan overflows, nor the sum over the blocks of a
  /// collection: an allocation stays below 2^57 bytes.
  static constexpr std::size_t kMaxCapacity = [] {
    std::size_t planes = 0;
    for (const FieldInfo& info : kFieldInfo<Layout>) planes += info.planes();
    return (std::size_t{1} << 56U) / (8 * planes);
  }();

  std::size_t bytes = 0;  ///< of the whole allocation
  std::array<std::size_t, kFieldCount<Layout>>
      offset_of{};  ///< in bytes, of the first plane of each field

  constexpr explicit MemoryPlan(std::size_t capacity) noexcept {
    std::array<std::size_t, kGroups> start{};
    std::array<std::size_t, kGroups> plane_bytes{};
    for (std::size_t group = 0; group < kGroups; ++group) {
      const std::size_t size = kElementSizes[group];
      plane_bytes[group] = pitch_of(size, is_of_scalars(group) ? 1 : capacity) * size;
      start[group] = bytes;
      bytes += kPlaces.planes_in[group] * plane_bytes[group];
    }
    for (std::size_t field = 0; field < offset_of.size(); ++field) {
      const std::size_t group = kPlaces.group_of[field];
      offset_of[field] = start[group] + kPlaces.plane_of[field] * plane_bytes[group];
    }
  }

 private:
  /// The groups in their order: four of columns, four of scalars, of which each has a line of its
  /// own.
  static constexpr std::array<std::size_t, 8> kElementSizes{8, 4, 2, 1, 8, 4, 2, 1};
  static constexpr std::size_t kGroups = kElementSizes.size();
  static constexpr bool is_of_scalars(std::size_t group) { return group >= kGroups / 2; }

  /// What does not depend on the capacity: the first plane of each field, counted in its group.
  struct Places {
    std::array<std::size_t, kGroups> planes_in{};
    std::array<std::size_t, kFieldCount<Layout>> group_of{};
    std::array<std::size_t, kFieldCount<Layout>> plane_of{};
  };
  static constexpr Places kPlaces = [] {
    Places places;
    for (std::size_t group = 0; group < kGroups; ++group) {
      for (std::size_t field = 0; field < kFieldCount<Layout>; ++field) {
        const FieldInfo& info = kFieldInfo<Layout>[field];
        const bool is_scalar = info.kind == ColumnKind::kScalar;
        if (is_scalar != is_of_scalars(group)) continue;
        if (info.element_size() != kElementSizes[group]) continue;
        places.group_of[field] = group;
        places.plane_of[field] = places.planes_in[group];
        places.planes_in[group] += info.planes();
      }
    }
    return places;
  }();
};

}  // namespace tensoa
