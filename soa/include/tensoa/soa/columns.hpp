// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

#include "tensoa/soa/fields.hpp"

/// @file
/// Columns of a layout as pointers. All are trivially copyable aggregates that a kernel takes by
/// value; copying one copies no data, and constness of the data is part of the type
/// (`PlainColumn<const float>`).

namespace tensoa {

/// One vector of a VectorColumn: a reference to N elements, `pitch_` apart.
template <class T, std::size_t N>
struct VectorReference {
  T* data_;
  std::size_t pitch_;

  constexpr T& operator[](std::size_t component) const { return data_[component * pitch_]; }
};

/// One matrix of a MatrixColumn: a reference to R x C elements, column-major, `pitch_` apart.
template <class T, std::size_t R, std::size_t C>
struct MatrixReference {
  T* data_;
  std::size_t pitch_;

  constexpr T& operator()(std::size_t row, std::size_t column) const {
    return data_[(row + column * R) * pitch_];
  }
};

/// `v.x[i]` is an element.
template <class T>
struct PlainColumn {
  using Row = T&;
  T* data_;

  constexpr T* data() const { return data_; }
  constexpr T& operator[](std::size_t i) const { return data_[i]; }
};

/// `v.direction[i][k]` is component k of vector i.
template <class T, std::size_t N>
struct VectorColumn {
  using Row = VectorReference<T, N>;
  T* data_;
  std::size_t pitch_;  ///< elements from one plane to the next

  constexpr T* data() const { return data_; }
  constexpr Row operator[](std::size_t i) const { return {data_ + i, pitch_}; }
  /// Component k of all vectors, as a plain column.
  constexpr PlainColumn<T> plane(std::size_t component) const {
    return {data_ + component * pitch_};
  }
};

/// `v.covariance[i](r, c)` is an element of matrix i.
template <class T, std::size_t R, std::size_t C>
struct MatrixColumn {
  using Row = MatrixReference<T, R, C>;
  T* data_;
  std::size_t pitch_;  ///< elements from one plane to the next

  constexpr T* data() const { return data_; }
  constexpr Row operator[](std::size_t i) const { return {data_ + i, pitch_}; }
  /// Element (r, c) of all matrices, as a plain column.
  constexpr PlainColumn<T> plane(std::size_t row, std::size_t column) const {
    return {data_ + (row + column * R) * pitch_};
  }
};

/// The empty type that a row has at the place of a scalar.
struct NoRow {};

/// `*v.field` is the one value.
template <class T>
struct ScalarColumn {
  using Row = NoRow;
  T* data_;

  constexpr T* data() const { return data_; }
  constexpr T& operator*() const { return *data_; }
  constexpr Row operator[](std::size_t) const { return {}; }
};

namespace detail {

template <class Field, bool kConst>
struct ColumnOf {
  using Type = PlainColumn<std::conditional_t<kConst, const Field, Field>>;
};
template <class T, std::size_t N, bool kConst>
struct ColumnOf<Vector<T, N>, kConst> {
  using Type = VectorColumn<std::conditional_t<kConst, const T, T>, N>;
};
template <class T, std::size_t R, std::size_t C, bool kConst>
struct ColumnOf<Matrix<T, R, C>, kConst> {
  using Type = MatrixColumn<std::conditional_t<kConst, const T, T>, R, C>;
};
template <class T, bool kConst>
struct ColumnOf<Scalar<T>, kConst> {
  using Type = ScalarColumn<std::conditional_t<kConst, const T, T>>;
};

}  // namespace detail

/// Field policy: `Hit<Column>` is the user's layout as columns.
template <class Field>
using Column = typename detail::ColumnOf<Field, false>::Type;

/// Field policy: the same over const data.
template <class Field>
using ConstColumn = typename detail::ColumnOf<Field, true>::Type;

namespace detail {

template <template <template <class> class> class Layout>
struct ColumnOf<Sub<Layout>, false> {
  using Type = Layout<Column>;
};
template <template <template <class> class> class Layout>
struct ColumnOf<Sub<Layout>, true> {
  using Type = Layout<ConstColumn>;
};
template <template <template <class> class> class Layout, bool kConst>
struct ColumnOf<Block<Layout>, kConst> : FieldTraits<Block<Layout>> {};

template <class Field, bool kConst>
struct RowOf {
  using Type = typename ColumnOf<Field, kConst>::Type::Row;
};

}  // namespace detail

/// Field policy: `Hit<Row>` is one row of real references (`float&`); a Scalar is not a part of it.
template <class Field>
using Row = typename detail::RowOf<Field, false>::Type;

/// Field policy: one row of references to const.
template <class Field>
using ConstRow = typename detail::RowOf<Field, true>::Type;

namespace detail {

template <template <template <class> class> class Layout>
struct RowOf<Sub<Layout>, false> {
  using Type = Layout<Row>;
};
template <template <template <class> class> class Layout>
struct RowOf<Sub<Layout>, true> {
  using Type = Layout<ConstRow>;
};

}  // namespace detail

/// Row `i` of columns: `row(view, i).z = 0.f`. Only the members that are used are read; i is not
/// checked.
template <template <template <class> class> class Layout>
constexpr Layout<Row> row(const Layout<Column>& columns, std::size_t i) {
  return detail::map_fields<Row>(columns,
                                 [i](const auto& column) -> decltype(auto) { return column[i]; });
}
template <template <template <class> class> class Layout>
constexpr Layout<ConstRow> row(const Layout<ConstColumn>& columns, std::size_t i) {
  return detail::map_fields<ConstRow>(
      columns, [i](const auto& column) -> decltype(auto) { return column[i]; });
}

namespace detail {

/// The same columns, each as `function` returns it.
template <template <template <class> class> class Layout, template <class> class Policy,
          class Function>
constexpr Layout<Policy> map_columns(const Layout<Policy>& columns, const Function& function) {
  return map_fields<Policy>(columns, function);
}

/// Offsets of a layout's columns if nothing lies between two of them; the last one is the end.
template <template <template <class> class> class Layout>
constexpr auto packed_offsets() {
  std::array<std::size_t, kFieldCount<Layout> + 1> offsets{};
  std::size_t field = 0;
  for_each_tag<Layout>([&]<class Field>(Tag<Field>) {
    offsets[field + 1] = offsets[field] + sizeof(Column<Field>);
    ++field;
  });
  return offsets;
}

template <template <template <class> class> class Layout>
constexpr auto column_offsets() {
  constexpr auto kPacked = packed_offsets<Layout>();
  static_assert(
      kPacked.back() == sizeof(Layout<Column>) && kPacked.back() == sizeof(Layout<ConstColumn>),
      "every member of a layout is a field, F<…>, and nothing lies between two columns");
  std::array<std::size_t, kFieldCount<Layout>> offsets{};
  std::copy_n(kPacked.begin(), offsets.size(), offsets.begin());
  return offsets;
}

/// Where each column lies inside Layout<Column> and Layout<ConstColumn>, in bytes. Every column
/// starts with its data pointer; those of vectors and matrices go on with their pitch.
template <template <template <class> class> class Layout>
inline constexpr std::array<std::size_t, kFieldCount<Layout>> kColumnOffsets =
    column_offsets<Layout>();

}  // namespace detail

}  // namespace tensoa
