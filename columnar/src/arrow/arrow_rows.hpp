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

#include "arrow/nested_columns.hpp"
#include "arrow_library.hpp"
#include "tensoa/columnar/number_type.hpp"
#include "tensoa/columnar/table_chunk.hpp"
#include "tensoa/columnar/table_file.hpp"
#include "tensoa/core/error.hpp"

// Between the sources of libtensoa_arrow.so: chunks as Arrow has them, and its errors as ours.

namespace tensoa::columnar {

/// A record batch.
class ArrowRows final : public detail::ChunkRows {
 public:
  ArrowRows(Path path, std::uint64_t first_row, std::shared_ptr<arrow::RecordBatch> batch)
      : ChunkRows(std::move(path), first_row), batch_(std::move(batch)) {}

  const std::shared_ptr<arrow::RecordBatch>& batch() const noexcept { return batch_; }

  std::size_t rows() const noexcept override;
  std::size_t columns() const noexcept override;
  const std::byte* numbers(std::size_t column, DType dtype, const NumberRules& rules,
                           NumberMemory& memory) const override;
  ListNumbers lists(std::size_t column, DType dtype, const NumberRules& rules,
                    NumberMemory& memory) const override;
  std::vector<RowFault> faults(std::size_t column, DType dtype,
                               const NumberRules& rules) const override;
  std::vector<std::uint8_t> validity(std::size_t column) const override;
  std::vector<std::int64_t> lengths(std::size_t column) const override;
  TableChunk slice(std::size_t first, std::size_t count) const override;
  TableChunk select(std::span<const std::size_t> columns) const override;
  TableChunk filter(std::span<const std::uint8_t> keep) const override;
  TableChunk concatenate(std::span<const TableChunk> chunks) const override;

 private:
  [[noreturn]] void fail_at_first(std::size_t column, DType dtype, const NumberRules& rules) const;

  std::shared_ptr<arrow::RecordBatch> batch_;
};

inline const arrow::RecordBatch& batch_of(const TableChunk& chunk) {
  return *static_cast<const ArrowRows&>(chunk.get()).batch();
}

/// Arrow's type for numbers of a type of ours. @param is_text of a CSV file, where there are no
/// half floats
std::shared_ptr<arrow::DataType> arrow_type(DType dtype, bool is_text);

/// Text of Arrow or of a file for a message: on one line and short.
std::string shortened(const std::string& text);

/// @throws InputError "PATH: WHAT: …"; std::bad_alloc, which is not a fault of the file
void require(const arrow::Status& status, const std::string& path, const std::string& what);

template <class T>
T require(arrow::Result<T> result, const std::string& path, const std::string& what) {
  require(result.status(), path, what);
  return std::move(result).ValueUnsafe();
}

TableChunk chunk_of(Path path, std::uint64_t first_row, std::shared_ptr<arrow::RecordBatch> batch);

/// Each has its own source file.
std::unique_ptr<TableFile::Format> open_parquet(Path path);
std::unique_ptr<TableFile::Format> open_arrow(Path path);
std::unique_ptr<TableFile::Format> open_csv(Path path);
std::unique_ptr<WrittenTable> write_table(const WrittenFile& file,
                                          const std::vector<WrittenColumn>& columns,
                                          const TableChunk* copied);
std::string read_whole_text(const std::filesystem::path& path, const TextLimit& limit);
TableChunk parse_whole_text(const std::filesystem::path& path, std::string_view text,
                            const std::vector<TextColumn>& columns, bool has_names);

/// A format whose columns Arrow lists.
class ArrowFormat : public TableFile::Format {
 public:
  ArrowFormat(const Path& path, std::shared_ptr<arrow::Schema> of_file,
              std::optional<std::uint64_t> count)
      : Format(path, file_columns(*of_file), count), schema(std::move(of_file)) {}

  TableChunk empty_chunk(const ReadOptions& options) const override;

  std::shared_ptr<arrow::Schema> schema;
};

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

/// A part that cannot be read.
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

}  // namespace tensoa::columnar
