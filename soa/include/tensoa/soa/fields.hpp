// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tensoa/core/dtype.hpp"
#include "tensoa/soa/impl/apply_fields.hpp"
#include "tensoa/soa/impl/count_members.hpp"
#include "tensoa/soa/impl/field_names.hpp"

/// @file
/// How a user writes a layout: a struct template over a field policy `F`, without macros.
///
///     template <template <class> class F>
///     struct Hit {
///       F<float> x, y, z;               // mm
///       F<Vector<float, 3>> direction;  // three planes
///       F<Scalar<float>> field;         // one value for the whole collection, T
///       F<Sub<Origin>> origin;          // the columns of another layout: v.origin.vertex[i]
///     };
///
/// The policy decides what a member is: a column, a row's reference, a record; a Sub is the other
/// layout with the same policy, at any depth. "Members" are what one struct declares, "fields" are
/// the columns they come to: origin is one member of Hit and all fields of Origin.
///
/// Counting goes through the Pointer policy, where each member is one scalar pointer, so that array
/// members and brace elision cannot miscount.

namespace tensoa {

/// A column of fixed-size vectors: N planes, one a component.
template <Element T, std::size_t N>
struct Vector;

/// A column of fixed-size matrices: R * C planes, column-major (plane = row + column * R).
template <Element T, std::size_t R, std::size_t C>
struct Matrix;

/// One value for the whole collection, in addition to the columns; not a part of a row.
template <Element T>
struct Scalar;

/// The columns of another layout, as part of this one: of the same length, in the same groups and at
/// the same pitches as the others.
template <template <template <class> class> class Layout>
struct Sub;

/// A collection with its own length, next to others in one allocation (block_collection.hpp).
template <template <template <class> class> class Layout>
struct Block;

enum class ColumnKind : std::uint8_t { kPlain, kVector, kMatrix, kScalar };

/// "plain", "vector", "matrix" or "scalar".
constexpr std::string_view name_of(ColumnKind kind) noexcept {
  switch (kind) {
    case ColumnKind::kPlain:
      return "plain";
    case ColumnKind::kVector:
      return "vector";
    case ColumnKind::kMatrix:
      return "matrix";
    case ColumnKind::kScalar:
      return "scalar";
  }
  return "unknown";
}

/// A layout's fields without their names: what decides where a column lies.
struct FieldInfo {
  ColumnKind kind;
  DType dtype;
  std::size_t rows;     ///< components of a vector, rows of a matrix, else 1
  std::size_t columns;  ///< columns of a matrix, else 1

  constexpr bool is_scalar() const noexcept { return kind == ColumnKind::kScalar; }
  constexpr std::size_t planes() const noexcept { return rows * columns; }
  /// Whether an element is a vector or a matrix.
  constexpr bool has_planes() const noexcept {
    return kind == ColumnKind::kVector || kind == ColumnKind::kMatrix;
  }
  constexpr std::size_t element_size() const noexcept { return size_of(dtype); }
};

/// Properties of a field type (float, Vector<float, 3>, …).
template <class Field>
struct FieldTraits {
  static_assert(
      Element<Field> && !std::is_const_v<Field>,
      "a field of a layout holds bool, (u)int8, int16, int32, int64, Half, BFloat16, float, "
      "double, Vector, Matrix, Scalar of one of these, or Sub of another layout; not const, which "
      "const_view() makes it");
  using Value = Field;
  static constexpr FieldInfo kInfo{ColumnKind::kPlain, kDTypeOf<Field>, 1, 1};
};
template <class T, std::size_t N>
struct FieldTraits<Vector<T, N>> {
  static_assert(N > 0 && !std::is_const_v<T>, "Vector<T, N>: N is 1 or more, T is not const");
  using Value = T;
  static constexpr FieldInfo kInfo{ColumnKind::kVector, kDTypeOf<T>, N, 1};
};
template <class T, std::size_t R, std::size_t C>
struct FieldTraits<Matrix<T, R, C>> {
  static_assert(R > 0 && C > 0 && !std::is_const_v<T>,
                "Matrix<T, R, C>: R and C are 1 or more, T is not const");
  using Value = T;
  static constexpr FieldInfo kInfo{ColumnKind::kMatrix, kDTypeOf<T>, R, C};
};
template <class T>
struct FieldTraits<Scalar<T>> {
  static_assert(!std::is_const_v<T>, "Scalar<T>: T is not const");
  using Value = T;
  static constexpr FieldInfo kInfo{ColumnKind::kScalar, kDTypeOf<T>, 1, 1};
};
template <template <template <class> class> class Layout>
struct FieldTraits<Block<Layout>> {
  static_assert(
      !std::is_same_v<Block<Layout>, Block<Layout>>,
      "a layout has columns or blocks, not both: put the columns into a layout of their "
      "own and make that a Block; a PortableCollection of blocks is in block_collection.hpp, its "
      "views are those of the blocks");
};

/// Number of members of a layout, a Sub counted once.
template <template <template <class> class> class Layout>
inline constexpr std::size_t kMemberCount = detail::count_members<Layout>();

/// Name of each member, in declaration order, as written in the layout.
template <template <template <class> class> class Layout>
inline constexpr std::array<std::string_view, kMemberCount<Layout>> kMemberNames =
    detail::find_field_names<kMemberCount<Layout>, Layout<detail::Pointer>>();

namespace detail {

/// The layout under the policy `To`, each field made by `function` from the same field of `fields`,
/// in declaration order and through all Subs. The one walk over a layout: rows, records, slices and
/// placed columns are made by it, and a caller without a result counts in `function`.
template <template <class> class To, class Field, class Function>
constexpr decltype(auto) map_fields(const Field& field, const Function& function) {
  return function(field);
}
template <template <class> class To, template <template <class> class> class Layout,
          template <class> class From, class Function>
constexpr Layout<To> map_fields(const Layout<From>& fields, const Function& function) {
  return apply_fields<kMemberCount<Layout>>(fields, [&function](const auto&... member) {
    return Layout<To>{map_fields<To>(member, function)...};
  });
}

/// Calls `function` with the tag of each field.
template <template <template <class> class> class Layout, class Function>
constexpr void for_each_tag(const Function& function) {
  map_fields<Tagged>(Layout<Tagged>{}, [&function](auto tag) {
    function(tag);
    return tag;
  });
}

template <template <template <class> class> class Layout>
constexpr std::size_t count_columns() {
  std::size_t count = 0;
  for_each_tag<Layout>([&count](auto) { ++count; });
  return count;
}

}  // namespace detail

/// Number of fields of a layout, those of Subs included.
template <template <template <class> class> class Layout>
inline constexpr std::size_t kFieldCount = detail::count_columns<Layout>();

namespace detail {

template <template <template <class> class> class Layout>
constexpr auto list_infos() {
  std::array<FieldInfo, kFieldCount<Layout>> infos{};
  std::size_t field = 0;
  for_each_tag<Layout>(
      [&]<class Field>(Tag<Field>) { infos[field++] = FieldTraits<Field>::kInfo; });
  return infos;
}

}  // namespace detail

/// FieldInfo of each field, in declaration order.
template <template <template <class> class> class Layout>
inline constexpr std::array<FieldInfo, kFieldCount<Layout>> kFieldInfo =
    detail::list_infos<Layout>();

}  // namespace tensoa

#include "tensoa/soa/impl/joined_field_names.hpp"

namespace tensoa {

/// Name of each field, in declaration order, as written in the layout; "origin.vertex" in a Sub.
template <template <template <class> class> class Layout>
inline constexpr const std::array<std::string_view, kFieldCount<Layout>>& kFieldNames =
    detail::FieldNames<Layout>::kNames;

}  // namespace tensoa
