// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/api.h>

#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nested_columns.hpp"
#include "tensoa/columnar/number_type.hpp"
#include "tensoa/columnar/table_chunk.hpp"
#include "tensoa/columnar/table_file.hpp"
#include "tensoa/core/error.hpp"

// Between the sources of this folder: chunks as Arrow has them, and its errors as ours.

namespace tensoa::columnar {

namespace detail {

struct ChunkRows {
  std::shared_ptr<const std::string> path;
  std::uint64_t first_row = 0;
  std::shared_ptr<arrow::RecordBatch> batch;
};

}  // namespace detail

using Path = std::shared_ptr<const std::string>;

/// Arrow's type for numbers of a type of ours. @param is_text of a CSV file, where there are no
/// half floats
std::shared_ptr<arrow::DataType> arrow_type(DType dtype, bool is_text);

/// Text of Arrow or of a file for a message: on one line and short.
std::string shortened(const std::string& text);

/// @throws InputError "PATH: WHAT: …"; std::bad_alloc, which is no fault of the file
void require(const arrow::Status& status, const std::string& path, const std::string& what);

template <class T>
T require(arrow::Result<T> result, const std::string& path, const std::string& what) {
  require(result.status(), path, what);
  return std::move(result).ValueUnsafe();
}

TableChunk chunk_of(Path path, std::uint64_t first_row, std::shared_ptr<arrow::RecordBatch> batch);

/// What TableFile asks of a format. Each is in a source of its own.
std::unique_ptr<TableFile::Format> open_parquet(Path path);
std::unique_ptr<TableFile::Format> open_arrow(Path path);
std::unique_ptr<TableFile::Format> open_csv(Path path);

/// Rows that are there already, in chunks.
class ReadyPart final : public TablePart {
 public:
  ReadyPart(TableChunk rows, std::size_t rows_per_chunk)
      : rows_(std::move(rows)), rows_per_chunk_(rows_per_chunk) {}

  std::uint64_t first_row() const noexcept override { return rows_.first_row(); }
  std::optional<std::uint64_t> rows() const noexcept override { return rows_.rows(); }
  std::optional<TableChunk> next() override;

 private:
  TableChunk rows_;
  std::size_t rows_per_chunk_;
  std::size_t done_ = 0;
};

/// What cannot be read.
class LostPart final : public TablePart {
 public:
  LostPart(std::uint64_t first_row, std::string message)
      : first_row_(first_row), message_(std::move(message)) {}

  std::uint64_t first_row() const noexcept override { return first_row_; }
  std::optional<std::uint64_t> rows() const noexcept override { return {}; }
  std::optional<TableChunk> next() override { throw InputError(message_); }

 private:
  std::uint64_t first_row_;
  std::string message_;
};

class TableFile::Format {
 public:
  Format(Path path, std::vector<FileColumn> all, std::optional<std::uint64_t> count)
      : name(std::move(path)), file_path(*name), columns(std::move(all)), rows(count) {}
  virtual ~Format() = default;

  virtual std::shared_ptr<arrow::Schema> schema() const = 0;
  virtual std::unique_ptr<TableParts> read(const ReadOptions& options) const = 0;

  Path name;
  std::filesystem::path file_path;
  std::vector<FileColumn> columns;
  std::optional<std::uint64_t> rows;
};

}  // namespace tensoa::columnar
