// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensoa/soa/portable_collection.hpp"
#include "tensoa/soa/soa_metadata.hpp"

/// @file
/// The data of the property tests on a layout and a choice of its columns, without the library's
/// own arithmetic: elements are found through `view.x[i]`, `view.v[i][k]`, `view.m[i](r, c)` and
/// `*view.s` alone.

namespace tensoa::test {

/// The text of random_layouts.py for a layout: kText, columns(view), records(records).
template <template <template <class> class> class Layout>
struct Description;

/// A column of a view without its type.
struct AnyColumn {
  std::string_view name;
  FieldInfo info;  ///< as the layout was generated
  std::function<std::byte*(std::size_t row, std::size_t r, std::size_t c)> at;

  /// Rows that hold elements of their own, of `capacity`.
  std::size_t rows_of(std::size_t capacity) const {
    return info.kind == ColumnKind::kScalar ? 1 : capacity;
  }
};

template <class T>
T& element(const PlainColumn<T>& column, std::size_t row, std::size_t, std::size_t) {
  return column[row];
}
template <class T, std::size_t N>
T& element(const VectorColumn<T, N>& column, std::size_t row, std::size_t r, std::size_t) {
  return column[row][r];
}
template <class T, std::size_t R, std::size_t C>
T& element(const MatrixColumn<T, R, C>& column, std::size_t row, std::size_t r, std::size_t c) {
  return column[row](r, c);
}
template <class T>
T& element(const ScalarColumn<T>& column, std::size_t, std::size_t, std::size_t) {
  return *column;
}

template <class Column>
AnyColumn any_column(std::string_view name, FieldInfo info, const Column& column) {
  return {name, info, [column](std::size_t row, std::size_t r, std::size_t c) {
            return reinterpret_cast<std::byte*>(&element(column, row, r, c));
          }};
}

/// Columns for one block, and what the block requires.
struct Choice {
  BlockShape shape;
  std::size_t first;  ///< row
  std::size_t rows;
  std::vector<std::size_t> fields;
};

inline bool have_one_type(const FieldInfo& a, const FieldInfo& b) {
  return a.kind == b.kind && a.dtype == b.dtype && a.rows == b.rows && a.columns == b.columns;
}

/// Whether a block over these columns is one strided tensor, by their addresses.
inline bool is_one_tensor(std::span<const AnyColumn> columns, const Choice& choice,
                          std::size_t capacity) {
  const AnyColumn& first = columns[choice.fields[0]];
  const auto distance = [&](std::size_t i) {
    return columns[choice.fields[i]].at(0, 0, 0) - columns[choice.fields[i - 1]].at(0, 0, 0);
  };
  for (std::size_t i = 1; i < choice.fields.size(); ++i) {
    if (!have_one_type(first.info, columns[choice.fields[i]].info)) return false;
    if (distance(i) != distance(1) || distance(i) <= 0) return false;
  }
  if (choice.shape == BlockShape::kColumns && first.info.kind != ColumnKind::kPlain) return false;
  return first.info.kind == ColumnKind::kScalar || choice.first + choice.rows <= capacity;
}

/// The numbers of columns that blocks are tried with: append_block takes them as arguments.
using ColumnCounts = std::index_sequence<1, 2, 3, 4, 5, 8, 16, 64>;

/// The largest of ColumnCounts that is at most `count`.
template <std::size_t... kCounts>
std::size_t possible_count(std::size_t count, std::index_sequence<kCounts...>) {
  return std::max({(kCounts <= count ? kCounts : 1)...});
}

/// Random columns: of any types, of one type, in any order, or equally spaced.
inline Choice choose(std::span<const AnyColumn> columns, std::size_t first, std::size_t rows,
                     std::mt19937& random) {
  std::vector<std::size_t> alike;
  const std::size_t leader = random() % columns.size();
  for (std::size_t field = 0; field < columns.size(); ++field) {
    if (have_one_type(columns[leader].info, columns[field].info)) alike.push_back(field);
  }
  const std::size_t wanted = 1 + random() % (random() % 4 == 0 ? columns.size() : 5);
  std::vector<std::size_t> fields;
  switch (random() % 5) {
    case 0:  // any
      for (std::size_t i = 0; i < wanted; ++i) fields.push_back(random() % columns.size());
      std::sort(fields.begin(), fields.end());
      break;
    case 1:  // of one type, in any order, maybe repeated
      for (std::size_t i = 0; i < wanted; ++i) fields.push_back(alike[random() % alike.size()]);
      break;
    case 2:  // of one type, ascending
      fields = alike;
      while (fields.size() > wanted) {
        fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(random() % fields.size()));
      }
      break;
    default: {  // of one type at one distance, as far as they go
      const std::size_t start = random() % alike.size();
      const std::size_t next = std::min(start + 1 + random() % 3, alike.size() - 1);
      const auto address = [&](std::size_t i) { return columns[alike[i]].at(0, 0, 0); };
      const std::ptrdiff_t step = address(next) - address(start);
      fields.push_back(alike[start]);
      for (std::size_t i = start + 1; i < alike.size(); ++i) {
        const auto so_far = static_cast<std::ptrdiff_t>(fields.size());
        if (address(i) == address(start) + so_far * step) fields.push_back(alike[i]);
      }
    }
  }
  fields.resize(possible_count(fields.size(), ColumnCounts{}));
  return {random() % 3 == 0 ? BlockShape::kColumns : BlockShape::kRows, first, rows,
          std::move(fields)};
}

template <class Metadata, class SomeRecord, std::size_t... kIndex>
void append_some(Metadata& metadata, BlockShape shape, std::string_view name,
                 std::span<const SomeRecord> records, const Choice& choice,
                 std::index_sequence<kIndex...>) {
  metadata.append_block(shape, name, records[choice.fields[kIndex]]...);
}

template <class Metadata, class SomeRecord, std::size_t... kCounts>
void append_counted(Metadata& metadata, std::string_view name, std::span<const SomeRecord> records,
                    const Choice& choice, std::index_sequence<kCounts...>) {
  ((choice.fields.size() == kCounts ? append_some(metadata, choice.shape, name, records, choice,
                                                  std::make_index_sequence<kCounts>())
                                    : void()),
   ...);
}

/// append_block with the columns of `choice`.
template <class Metadata, template <template <class> class> class Layout>
void append(Metadata& metadata, std::string_view name, const std::vector<Record<Layout>>& records,
            const Choice& choice) {
  append_counted(metadata, name, std::span<const Record<Layout>>(records), choice, ColumnCounts{});
}

}  // namespace tensoa::test
