// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensoa/columnar/table_chunk.hpp"
#include "tensoa/core/dtype.hpp"

namespace tensoa::columnar {

/// The content of each row of a column.
enum class Cells : std::uint8_t { kNumbers, kLists, kTexts };

/// A column to be written.
struct WrittenColumn {
  std::string name;
  DType dtype =
      DType::kF32;  ///< bfloat16 is written as float32, in CSV float16 too; texts have none
  Cells cells = Cells::kNumbers;
};

/// Numbers of one column: one a row, or those of lists; or the letters of texts, as UTF-8.
struct WrittenNumbers {
  const std::byte* data = nullptr;  ///< side by side
  /// Of lists and texts: of each row where it begins, and where the last one ends.
  std::vector<std::int64_t> offsets = {};
};

/// Rows of a TableWriter's file, encoded apart from it: by one thread, while others encode theirs.
/// *Threads*: one at a time
class EncodedRows {
 public:
  ~EncodedRows();
  EncodedRows(EncodedRows&&) noexcept;
  EncodedRows& operator=(EncodedRows&&) noexcept;

  /// As TableWriter::append.
  void append(std::size_t rows, const std::vector<WrittenNumbers>& numbers,
              const TableChunk& copied);

  std::size_t rows() const noexcept { return count_; }

 private:
  friend class RowEncoder;
  friend class TableWriter;
  class Apart;
  explicit EncodedRows(std::unique_ptr<Apart> apart);

  std::unique_ptr<Apart> apart_;
  std::size_t count_ = 0;
};

/// For threads that encode rows of a TableWriter's file on their own: compressing them takes longer than all else.
/// A cheap handle; it may outlive the writer. *Threads*: safe, next to the writer, too
class RowEncoder {
 public:
  /// Rows that lie together in the file, in Parquet as a row group, so that they should be many, some 10 000.
  EncodedRows begin() const;

 private:
  friend class TableWriter;
  explicit RowEncoder(std::shared_ptr<const void> table) : table_(std::move(table)) {}

  std::shared_ptr<const void> table_;
};

/// Writes a table as .parquet, .arrow (file format) or .csv, chunk by chunk. The file appears complete or not at
/// all (OutputFile).
/// *Threads*: one at a time
class TableWriter {
 public:
  /// Makes the file, so that a path that cannot be written is found before the work is done.
  /// @throws ConfigError for another ending, for lists in CSV, for a name that is there twice; OutputError
  TableWriter(const std::filesystem::path& path, std::vector<WrittenColumn> columns);
  /// @param copied its columns come after those of `columns`, as append() gets them; of dictionaries their values are written
  TableWriter(const std::filesystem::path& path, std::vector<WrittenColumn> columns,
              const TableChunk& copied);
  ~TableWriter();
  TableWriter(TableWriter&&) noexcept;
  TableWriter& operator=(TableWriter&&) noexcept;

  /// Writes rows. The memory may be reused when it returns.
  /// @param numbers one for each column
  /// @throws OutputError
  void append(std::size_t rows, const std::vector<WrittenNumbers>& numbers);
  /// @param copied the same number of rows, the columns that the constructor saw
  /// @throws OutputError; InputError where a copied column has another type than it had there
  void append(std::size_t rows, const std::vector<WrittenNumbers>& numbers,
              const TableChunk& copied);

  /// For .parquet; none for files in which nothing is compressed.
  std::optional<RowEncoder> encoder() const;

  /// Writes rows after those before. @return false, and nothing is written, where number_rows() was called since encoder()
  /// @throws OutputError
  bool append(EncodedRows rows);

  /// Puts a column of integers before all others, in which the rows that were written are 0, 1, …; append() gets
  /// its numbers from now on. Reads what was written and writes it again.
  /// @throws ConfigError for a name that is there, and for what is written in place, such as stdout; OutputError
  void number_rows(const std::string& name);

  /// Ends the file, which is then at its path. Call it once, at the end. @throws OutputError
  void finish();

 private:
  class Output;
  std::unique_ptr<Output> output_;
};

/// Throws what the constructor would for the ending of a path. @throws ConfigError
void require_table_ending(const std::filesystem::path& path);

}  // namespace tensoa::columnar
