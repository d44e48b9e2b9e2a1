// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensoa/columnar/table_chunk.hpp"
#include "tensoa/soa/portable_collection.hpp"

/// @file
/// A file of columns as a collection, and a collection as a file, in one call each.
///
///     const auto hits = columnar::read_collection<Hit>("hits.parquet");
///     ...
///     columnar::write_collection("tracks.parquet", tracks.const_view());
///
/// Files larger than memory are read in chunks (table_file.hpp).

namespace tensoa::columnar {

struct CollectionOptions {
  /// Field of the layout → column of the file, where they are not called alike. Of a vector each component is a
  /// field ("u.0"), of a matrix each element ("m.ROW.COLUMN"), of a Sub each of its fields ("origin.vertex").
  std::map<std::string, std::string> columns = {};
  NumberRules rules =
      {};  ///< numbers of another type than the field's: those that change a number are refused
};

namespace detail {

/// The chunks of a file, whole in memory.
class WholeTable {
 public:
  WholeTable(const std::filesystem::path& path, std::span<const FieldInfo> fields,
             std::span<const std::string_view> names, const CollectionOptions& options);

  std::size_t rows() const noexcept { return rows_; }
  void fill(std::span<const ColumnRecord> columns) const;

 private:
  std::string file_;
  std::vector<std::string> columns_;
  NumberRules rules_;
  std::vector<TableChunk> chunks_;
  std::size_t rows_ = 0;
};

void write_columns(const std::filesystem::path& path, std::span<const ColumnRecord> columns,
                   std::span<const std::string_view> names, std::size_t rows);

}  // namespace detail

/// Reads the columns of a layout from a Parquet, Arrow or CSV file, by their names; others are not read.
/// A Scalar is a column that has one value in all rows.
/// @return a collection in host memory, with the rows of the file; `copy` takes it to a device
/// @throws InputError that names file, column and row: what cannot be read, an absent column, a null or a number that
/// the field does not hold, a scalar with several values or none; ConfigError for a name in `options` that is not a field
template <template <template <class> class> class Layout>
PortableCollection<Layout> read_collection(const std::filesystem::path& path,
                                           const CollectionOptions& options = {}) {
  const detail::WholeTable table(path, kFieldInfo<Layout>, kFieldNames<Layout>, options);
  PortableCollection<Layout> collection(table.rows(), Device::cpu());
  table.fill(column_records(collection.view()));
  return collection;
}

/// Writes the columns of a view in host memory, called as their fields, as .parquet, .arrow or .csv; a Scalar as a
/// column. The file appears complete or not at all.
/// @throws ConfigError for another ending; BindingError for columns on a GPU; OutputError
template <template <template <class> class> class Layout>
void write_collection(const std::filesystem::path& path, const ConstView<Layout>& view) {
  detail::write_columns(path, column_records(view), kFieldNames<Layout>, view.size());
}

}  // namespace tensoa::columnar
