// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tensoa/soa/foreign_column.hpp"
#include "tensoa/soa/view.hpp"

/// @file
/// Views over memory that is not the library's, with nothing copied: one source for each field of
/// the layout, in declaration order; a Sub needs one for each of its fields.
///
///     auto hits = foreign_view<Hit>(n_hits, Device::cpu(), x_vector, y_vector, z_pointer,
///                                   layer_span, Planes{direction_pointer, pitch},
///                                   covariance_eigen, &field);
///
/// | source | for | rows it holds |
/// | --- | --- | --- |
/// | `T*` | plain column, scalar | not checked |
/// | contiguous range (`std::vector`, `std::span`, `T[N]`, …) | plain column | its size |
/// | `Planes{pointer, pitch}` | vector, matrix | not checked |
/// | `Planes{range, pitch}` | vector, matrix | from its size |
/// | Eigen, column-major: [n, 1]; [n, R]; [n, R * C] | plain; vector; matrix R x C | `rows()` |
/// | CMSSW column record | that of its `columnType` | not checked |
/// | tuple (record, size), as `records().x()` gives it there | the same | the size |
/// | a type with a specialization of ForeignSource | what it is turned into | |
///
/// Errors that types show are compile errors: the number of sources, element type, constness, kind, and a
/// temporary that owns its memory. What the memory decides is a BindingError that names the field.
///
/// The columns of one block of a model must lie at equal distances. Columns of one allocation with
/// one pitch do, so they are one tensor. A vector for each column usually does not: append_block
/// refuses several such columns and names them; bind each as a separate block, or request a copy
/// (Repack, bound_block.hpp).
///
/// Eigen types (matrix, array, map, block; fixed or dynamic size) and CMSSW records
/// (SoAParametersImpl of DataFormats/SoATemplate) are known by their members; no header of theirs is
/// needed.

namespace tensoa {
namespace detail {

/// Any integer; those beyond 63 bits become the largest, which no check lets pass.
template <std::integral Count>
constexpr std::int64_t count_of(Count count) noexcept {
  return std::in_range<std::int64_t>(count) ? static_cast<std::int64_t>(count)
                                            : ForeignColumn::kUnbounded;
}

template <class Memory>
concept ForeignPointer = std::is_pointer_v<std::remove_cvref_t<Memory>>;

/// A contiguous range with a size.
template <class Memory>
concept ForeignRange = std::ranges::contiguous_range<std::remove_reference_t<Memory>&> &&
                       std::ranges::sized_range<std::remove_reference_t<Memory>&>;

template <ForeignRange Memory>
using ForeignElement = std::remove_pointer_t<decltype(std::ranges::data(std::declval<Memory&>()))>;

}  // namespace detail

/// A vector or matrix column in foreign memory: R (R * C) planes, each `pitch` elements after the
/// one before; the planes of a matrix in column-major order (plane = row + column * R). Over a
/// range, its size is checked; a temporary range must be a borrowed one (`std::span`).
template <class T>
class Planes {
 public:
  template <detail::ForeignPointer Memory, std::integral Pitch>
  constexpr Planes(Memory&& pointer, Pitch pitch)
      : data_(pointer), pitch_(detail::count_of(pitch)), elements_(ForeignColumn::kUnbounded) {}

  template <detail::ForeignRange Memory, std::integral Pitch>
    requires std::ranges::borrowed_range<Memory>
  constexpr Planes(Memory&& range, Pitch pitch)
      : data_(std::ranges::data(range)),
        pitch_(detail::count_of(pitch)),
        elements_(detail::count_of(std::ranges::size(range))) {}

  constexpr T* data() const noexcept { return data_; }
  /// Elements from one plane to the next.
  constexpr std::int64_t pitch() const noexcept { return pitch_; }
  /// Elements that the range holds; the largest number for a pointer.
  constexpr std::int64_t elements() const noexcept { return elements_; }

 private:
  T* data_;
  std::int64_t pitch_;
  std::int64_t elements_;
};
template <detail::ForeignPointer Memory, std::integral Pitch>
Planes(Memory&&, Pitch) -> Planes<std::remove_pointer_t<std::remove_cvref_t<Memory>>>;
template <detail::ForeignRange Memory, std::integral Pitch>
Planes(Memory&&, Pitch) -> Planes<detail::ForeignElement<Memory>>;

/// Teaches foreign_view a column type: specialise it with a static `get` that returns one of the
/// sources above.
///
///     template <>
///     struct tensoa::ForeignSource<my::Column> {
///       static std::span<float> get(my::Column& column) { return {column.begin_, column.count_}; }
///       static std::span<const float> get(const my::Column& column) { … }
///     };
///
/// It goes before all that is built in, so it also replaces what foreign_view would do by itself.
/// Where the type stores its device, a static `Device device(const my::Column&)` lets foreign_view
/// refuse a column that lies elsewhere.
template <class Column>
struct ForeignSource {};

}  // namespace tensoa

#include "tensoa/soa/impl/foreign_view.hpp"

namespace tensoa {

/// The columns of `Layout` in memory of the caller's, writable. O(fields) where each lies beyond the
/// ones before it, else O(fields^2), for the overlap check; nothing is allocated, no element is read.
///
/// @param n rows, 0 to 2^48; the capacity of the view too. With n = 0 sources may be null; the
/// columns then get distinct addresses at equal distances, as in an empty collection. A scalar keeps
/// the address it has; one that was null must not be used
/// @param device where the memory is; not checked, except for sources that store their device
/// @param sources one for each field in declaration order, to memory that may be written
/// @throws BindingError naming the field, with what was found and what is needed: a null pointer, an
/// address that is not aligned to the element size, fewer than n rows, planes closer than n rows,
/// columns that overlap, storage order, strides or shape that do not fit, impossible sizes, a source
/// that lies on another device
///
/// *Lifetime*: the view borrows; it must not outlive the memory, and a range or matrix must not grow
/// or move under it.
template <template <template <class> class> class Layout, std::integral Rows, DeviceLike D,
          class... Sources>
[[nodiscard]] View<Layout> foreign_view(Rows n, const D& device, Sources&&... sources) {
  return detail::make_foreign_view<Layout, Column, false>(
      detail::count_of(n), DeviceTraits<D>::get(device), std::forward<Sources>(sources)...);
}

/// The same as const columns; sources may be const or not.
template <template <template <class> class> class Layout, std::integral Rows, DeviceLike D,
          class... Sources>
[[nodiscard]] ConstView<Layout> foreign_const_view(Rows n, const D& device, Sources&&... sources) {
  return detail::make_foreign_view<Layout, ConstColumn, true>(
      detail::count_of(n), DeviceTraits<D>::get(device), std::forward<Sources>(sources)...);
}

}  // namespace tensoa
