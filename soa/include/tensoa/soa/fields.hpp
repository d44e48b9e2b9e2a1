// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

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
///     };
///
/// The policy decides what a field is: a column, a row's reference, a record. Counting goes through
/// the Pointer policy, where each field is one scalar pointer, so that array members and brace
/// elision cannot miscount.

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

  constexpr std::size_t planes() const noexcept { return rows * columns; }
  constexpr std::size_t element_size() const noexcept { return size_of(dtype); }
};

/// What a field type (float, Vector<float, 3>, …) stands for.
template <class Field>
struct FieldTraits {
  static_assert(Element<Field>,
                "a field of a layout holds bool, (u)int8, int16, int32, int64, Half, BFloat16, "
                "float, double, "
                "or Vector, Matrix, Scalar of one of these");
  using Value = Field;
  static constexpr FieldInfo kInfo{ColumnKind::kPlain, kDTypeOf<Field>, 1, 1};
};
template <class T, std::size_t N>
struct FieldTraits<Vector<T, N>> {
  using Value = T;
  static constexpr FieldInfo kInfo{ColumnKind::kVector, kDTypeOf<T>, N, 1};
};
template <class T, std::size_t R, std::size_t C>
struct FieldTraits<Matrix<T, R, C>> {
  using Value = T;
  static constexpr FieldInfo kInfo{ColumnKind::kMatrix, kDTypeOf<T>, R, C};
};
template <class T>
struct FieldTraits<Scalar<T>> {
  using Value = T;
  static constexpr FieldInfo kInfo{ColumnKind::kScalar, kDTypeOf<T>, 1, 1};
};

namespace detail {

template <class Field>
using Pointer = Field*;

template <class Field>
struct Tag {
  using Type = Field;
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

}  // namespace detail

/// Number of fields of a layout.
template <template <template <class> class> class Layout>
inline constexpr std::size_t kFieldCount = detail::count_fields<Layout<detail::Pointer>>();

/// FieldInfo of each field, in declaration order.
template <template <template <class> class> class Layout>
inline constexpr std::array<FieldInfo, kFieldCount<Layout>> kFieldInfo =
    detail::apply_fields<kFieldCount<Layout>>(Layout<detail::Tag>{}, [](auto... tag) {
      return std::array<FieldInfo, kFieldCount<Layout>>{
          FieldTraits<typename decltype(tag)::Type>::kInfo...};
    });

/// Name of each field, in declaration order, as written in the layout.
template <template <template <class> class> class Layout>
inline constexpr std::array<std::string_view, kFieldCount<Layout>> kFieldNames =
    detail::find_field_names<kFieldCount<Layout>, Layout<detail::Pointer>>();

}  // namespace tensoa
