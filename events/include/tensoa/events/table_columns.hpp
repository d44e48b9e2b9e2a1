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
#include "tensoa/core/dtype.hpp"
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
    static_assert(std::ranges::all_of(
        kFieldInfo<Layout>, [](const FieldInfo& info) { return info.kind == ColumnKind::kPlain; }));
    TableColumns table{view.size()};
    for (const ColumnRecord& column : column_records(view)) {
      const std::string_view name = kFieldNames<Layout>[column.field];
      if (std::ranges::find(left_out, name) != left_out.end()) continue;
      table.add(name, column.info.dtype, column.data);
    }
    return table;
  }

  /// Adds the columns of a view with the same number of rows.
  TableColumns& operator+=(const TableColumns& other) {
    columns.insert(columns.end(), other.columns.begin(), other.columns.end());
    numbers.insert(numbers.end(), other.numbers.begin(), other.numbers.end());
    return *this;
  }

  /// Adds a column. @param data [rows]
  template <class T>
  void add(std::string_view name, const T* data) {
    add(name, kDTypeOf<T>, data);
  }

  /// Writes one file. @throws OutputError
  void write(const std::filesystem::path& path) const {
    columnar::TableWriter writer(path, columns);
    writer.append(rows, numbers);
    writer.finish();
  }

 private:
  void add(std::string_view name, DType dtype, const void* data) {
    columns.push_back({.name = std::string(name), .dtype = dtype});
    numbers.push_back({.data = static_cast<const std::byte*>(data)});
  }
};

/// Writes the rows of any number of events to one .csv or .parquet file, under a first column `event` with their names.
/// Rows of one event stay together. *Threads*: one at a time.
class AnswerWriter {
 public:
  /// @param columns of each append(); their rows do not matter
  /// @throws ConfigError for another ending; OutputError when the file cannot be written
  AnswerWriter(const std::filesystem::path& path, TableColumns columns)
      : writer_(with_event(path, std::move(columns))) {}

  /// Adds the rows of one event, which are read in place. @throws OutputError
  void append(std::string_view event, TableColumns table) {
    if (table.rows == 0) return;
    std::string names;
    std::vector<std::int64_t> offsets{0};
    for (std::size_t row = 0; row < table.rows; ++row) {
      names += event;
      offsets.push_back(static_cast<std::int64_t>(names.size()));
    }
    table.numbers.insert(table.numbers.begin(),
                         {reinterpret_cast<const std::byte*>(names.data()), std::move(offsets)});
    writer_.append(table.rows, table.numbers);
  }

  /// Completes the file; call it once, last. Without it nothing is left of the file. @throws OutputError
  void finish() { writer_.finish(); }

 private:
  static columnar::TableWriter with_event(const std::filesystem::path& path, TableColumns table) {
    if (path.extension() != ".csv" && path.extension() != ".parquet") {
      throw ConfigError(path.string() + ": got the ending \"" + path.extension().string() +
                        "\", expected a file named .csv or .parquet");
    }
    table.columns.insert(table.columns.begin(),
                         {.name = "event", .cells = columnar::Cells::kTexts});
    return {path, std::move(table.columns)};
  }

  columnar::TableWriter writer_;
};

}  // namespace tensoa::events
