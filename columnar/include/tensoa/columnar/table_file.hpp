// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tensoa/columnar/number_type.hpp"
#include "tensoa/columnar/table_chunk.hpp"
#include "tensoa/core/dtype.hpp"

/// @file
/// Files of columns, read in chunks, so that a file may be larger than memory.
///
///     columnar::TableFile file("data.parquet");
///     const auto parts = file.read({.columns = {"x", "y"}});
///     while (auto part = parts->next()) {          // one thread
///       while (auto chunk = part->next()) {        // any thread, one for each part
///         use(chunk->numbers(0, DType::kF32, Rounding::kRefused, memory), chunk->rows());
///       }
///     }
///
/// | ending | a part | what is decoded where |
/// | --- | --- | --- |
/// | `.parquet` | a row group | by the thread that reads the part |
/// | `.arrow`, `.ipc`, `.feather`: file format | a record batch | columns lie in the mapped file; compressed ones are unpacked by the thread that reads the part |
/// | the same endings, stream format | a record batch; one more, which is an error, where the file does not end with an end-of-stream marker | by the thread that takes the parts |
/// | `.csv`, `.csv.gz` | a block of 1 MiB of text | by the thread that takes the parts |

namespace tensoa::columnar {

struct ReadOptions {
  std::vector<std::string> columns;  ///< of the chunks, in this order; each is in the file
  std::size_t rows_per_chunk = 20'000;
  /// CSV: what the text of a column is read as; of other columns the first block of text shows it.
  std::map<std::string, DType> text_types = {};
};

/// Rows that one thread reads, chunk by chunk.
class TablePart {
 public:
  virtual ~TablePart() = default;

  /// The number of its first row in the file, from 0.
  virtual std::uint64_t first_row() const noexcept = 0;

  /// How many rows it has; nothing where only reading them shows it.
  virtual std::optional<std::uint64_t> rows() const noexcept = 0;

  /// Returns its next rows, at most ReadOptions::rows_per_chunk and at least one; nothing at the end.
  /// @throws InputError with the path and the row for what cannot be read; the rest of the part is then lost,
  /// other parts are not
  /// *Threads*: one for each part
  virtual std::optional<TableChunk> next() = 0;
};

/// The parts of a file, in order.
class TableParts {
 public:
  virtual ~TableParts() = default;

  /// Returns the next part; nothing at the end. A part may be read after this object and the file are gone.
  /// Where a file cannot be read on, the last part is one whose next() throws.
  /// *Threads*: one at a time
  virtual std::unique_ptr<TablePart> next() = 0;
};

/// An open file of columns.
class TableFile {
 public:
  /// Opens the file and reads the names and types of its columns. The ending is the format.
  /// @throws InputError: no such file, another ending, a file that is damaged or truncated; of `.root` the
  /// message says how to convert it
  explicit TableFile(std::filesystem::path path);
  ~TableFile();
  TableFile(TableFile&&) noexcept;
  TableFile& operator=(TableFile&&) noexcept;

  const std::filesystem::path& path() const noexcept;
  const std::vector<FileColumn>& columns() const noexcept;

  /// How many rows it has; nothing where only reading them shows it.
  std::optional<std::uint64_t> rows() const noexcept;

  /// Starts to read. @throws InputError for a column that is absent, or there twice
  std::unique_ptr<TableParts> read(const ReadOptions& options) const;

  /// Returns a chunk without rows: the columns and their types. @throws InputError, as read()
  TableChunk empty_chunk(const ReadOptions& options) const;

  /// The interface of a format.
  class Format;

 private:
  std::unique_ptr<Format> format_;
};

/// Returns the files of paths: of a folder those in it that TableFile reads, by name; other paths as they are.
/// @throws InputError for a path that is absent, a folder without such files, and without any path
std::vector<std::filesystem::path> find_tables(const std::vector<std::string>& paths);

}  // namespace tensoa::columnar
