// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tensoa/core/dtype.hpp"
#include "tensoa/soa/impl/apply_fields.hpp"
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
/// the columns they come to: origin is one member of Hit and as many fields as Origin has.
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

/// One value for the whole collection, beside the columns; no part of a row.
template <Element T>
struct Scalar;

/// The columns of another layout, as part of this one: of the same length, in the same groups and at
/// the same pitches as the others.
template <template <template <class> class> class Layout>
struct Sub;

/// A collection of its own length, beside others in one allocation (block_collection.hpp).
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

/// What a field type (float, Vector<float, 3>, …) stands for.
template <class Field>
struct FieldTraits {
  static_assert(
      Element<Field> && !std::is_const_v<Field>,
      "a field of a layout holds bool, (u)int8, int16, int32, int64, Half, BFloat16, float, "
      "double, "
      "Vector, Matrix, Scalar of one of these, or Sub of another layout; not const, which "
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

namespace detail {

template <class Field>
using Pointer = Field*;

/// Stands for a field where only its type matters.
template <class Field>
struct Tag {
  using Type = Field;
};

template <class Field>
struct TagOf {
  using Type = Tag<Field>;
};
template <class Field>
using Tagged = typename TagOf<Field>::Type;
template <template <template <class> class> class Layout>
struct TagOf<Sub<Layout>> {
  using Type = Layout<Tagged>;
};

struct AnyPointer {
  template <class T>
  constexpr operator T*()
      const {  // NOLINT(google-explicit-constructor): initialises any field of the count
    return nullptr;
  }
};

template <class Aggregate, class... Counted>
constexpr std::size_t count_fields() {
  if constexpr (requires { Aggregate{Counted{}..., AnyPointer{}}; }) {
    return count_fields<Aggregate, Counted..., AnyPointer>();
  } else {
    return sizeof...(Counted);
  }
}

/// Stands for a base class of `Aggregate`, whichever it has.
template <class Aggregate>
struct AnyBaseOf {
  template <class Base>
    requires(std::is_base_of_v<Base, Aggregate> && !std::is_same_v<Base, Aggregate>)
  constexpr operator Base&() const;  // NOLINT(google-explicit-constructor): only declared
};
template <class Aggregate>
concept HasBase = requires { Aggregate{AnyBaseOf<Aggregate>{}}; };

template <class>
using Byte = std::byte;

/// Whether braces around each of `kCount` pointers initialise the aggregate: not where one of them
/// is a struct or an array of several.
template <class Aggregate, std::size_t... kIndex>
constexpr bool has_members(std::index_sequence<kIndex...>) {
  return requires { Aggregate{{(static_cast<void>(kIndex), AnyPointer{})}...}; };
}

template <template <template <class> class> class Layout>
constexpr std::size_t count_members() {
  using Pointers = Layout<Pointer>;
  static_assert(std::is_aggregate_v<Pointers> && !HasBase<Pointers>,
                "a layout is a plain struct: no constructors, private members, virtual functions "
                "or base classes");
  constexpr std::size_t kCount = count_fields<Pointers>();
  constexpr bool kAllAreFields = sizeof(Pointers) == kCount * sizeof(void*) &&
                                 sizeof(Layout<Byte>) == kCount &&
                                 has_members<Pointers>(std::make_index_sequence<kCount>());
  static_assert(kAllAreFields || std::is_empty_v<Pointers>,
                "every member of a layout is a field: F<int> n, not int n; F<Vector<float, 3>> x, "
                "not F<float> x[3]; F<Sub<Point>> p, not Point<F> p");
  static_assert(kCount >= 1 && kCount <= kMaxFields, "a layout has 1 to 64 fields");
  return kCount;
}

}  // namespace detail

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
/// placed columns are made by it, and whoever wants no result counts in `function`.
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

namespace detail {

/// Joins the names of members and of the fields inside them: "origin" and "vertex" are
/// "origin.vertex". The characters are the layout's own.
template <template <template <class> class> class Layout>
struct FieldNames {
  struct Parts {
    std::string_view member;
    std::string_view inside;  ///< empty where the member is a field itself
    constexpr std::size_t size() const {
      return member.size() + (inside.empty() ? 0 : 1 + inside.size());
    }
  };

  template <class Field>
  static constexpr std::array<std::string_view, 1> inside(Tag<Field>) {
    return {};
  }
  template <template <template <class> class> class Inner>
  static constexpr const auto& inside(const Inner<Tagged>&) {
    return FieldNames<Inner>::kNames;
  }

  static constexpr std::array<Parts, kFieldCount<Layout>> kParts = [] {
    std::array<Parts, kFieldCount<Layout>> parts{};
    std::size_t field = 0;
    std::size_t member = 0;
    apply_fields<kMemberCount<Layout>>(Layout<Tagged>{}, [&](const auto&... tags) {
      const auto add = [&](const auto& names) {
        for (const std::string_view name : names) {
          parts[field++] = {kMemberNames<Layout>[member], name};
        }
        ++member;
      };
      (add(inside(tags)), ...);
    });
    return parts;
  }();

  static constexpr std::size_t kLength = [] {
    std::size_t length = 0;
    for (const Parts& parts : kParts) length += parts.size();
    return length;
  }();

  static constexpr std::array<char, kLength> kText = [] {
    std::array<char, kLength> text{};
    char* to = text.data();
    for (const Parts& parts : kParts) {
      to = std::copy(parts.member.begin(), parts.member.end(), to);
      if (!parts.inside.empty()) *to++ = '.';
      to = std::copy(parts.inside.begin(), parts.inside.end(), to);
    }
    return text;
  }();

  static constexpr std::array<std::string_view, kFieldCount<Layout>> kNames = [] {
    std::array<std::string_view, kFieldCount<Layout>> names{};
    const char* from = kText.data();
    for (std::size_t field = 0; field < names.size(); ++field) {
      names[field] = {from, kParts[field].size()};
      from += names[field].size();
    }
    return names;
  }();
};

}  // namespace detail

/// Name of each field, in declaration order, as written in the layout; "origin.vertex" in a Sub.
template <template <template <class> class> class Layout>
inline constexpr const std::array<std::string_view, kFieldCount<Layout>>& kFieldNames =
    detail::FieldNames<Layout>::kNames;

}  // namespace tensoa
