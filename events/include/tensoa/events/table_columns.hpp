// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensoa/columnar/table_writer.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/soa/fields.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa::events {

/// Columns of a view in host memory as those of a file. *Lifetime*: borrows the columns.
struct TableColumns {
  std::size_t rows = 0;
  std::vector<columnar::WrittenColumn> columns = {};
  std::vector<columnar::WrittenNumbers> numbers = {};

  /// All columns of a layout of plain ones, in its order, under its names.
  /// @param left_out names that are not written
  template <template <template <class> class> class Layout>
  static TableColumns of(ConstView<Layout> view,
                         std::initializer_list<std::string_view> left_out = {}) {
    TableColumns table{view.size()};
    std::size_t field = 0;
    tensoa::detail::apply_fields<kMemberCount<Layout>>(view.columns(), [&](const auto&... column) {
      (table.add(kMemberNames<Layout>[field++], column, left_out), ...);
    });
    return table;
  }

  /// Adds the columns of a view of as many rows.
  TableColumns& operator+=(const TableColumns& other) {
    columns.insert(columns.end(), other.columns.begin(), other.columns.end());
    numbers.insert(numbers.end(), other.numbers.begin(), other.numbers.end());
    return *this;
  }

  /// Adds a column. @param data [rows]
  template <class T>
  void add(std::string_view name, const T* data) {
    columns.push_back({.name = std::string(name), .dtype = kDTypeOf<T>});
    numbers.push_back({.data = reinterpret_cast<const std::byte*>(data)});
  }

  /// Puts the column `event` with one text in all rows before the others. @param texts keeps its letters
  void put_event(std::string_view event, std::string& texts) {
    std::vector<std::int64_t> offsets{0};
    texts.clear();
    for (std::size_t row = 0; row < rows; ++row) {
      texts += event;
      offsets.push_back(static_cast<std::int64_t>(texts.size()));
    }
    columns.insert(columns.begin(), {.name = "event", .cells = columnar::Cells::kTexts});
    numbers.insert(numbers.begin(),
                   {reinterpret_cast<const std::byte*>(texts.data()), std::move(offsets)});
  }

  /// Writes one file. @throws OutputError
  void write(const std::filesystem::path& path) const {
    columnar::TableWriter writer(path, columns);
    writer.append(rows, numbers);
    writer.finish();
  }

 private:
  template <class T>
  void add(std::string_view name, const PlainColumn<const T>& column,
           std::initializer_list<std::string_view> left_out) {
    if (std::find(left_out.begin(), left_out.end(), name) == left_out.end())
      add(name, column.data());
  }
};

/// @throws ConfigError unless the file is called .csv or .parquet
inline void require_table(const std::filesystem::path& path) {
  if (path.extension() == ".csv" || path.extension() == ".parquet") return;
  throw ConfigError(path.string() + ": got the ending \"" + path.extension().string() +
                    "\", expected a file named .csv or .parquet");
}

}  // namespace tensoa::events
