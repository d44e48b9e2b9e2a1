// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensoa/columnar/number_type.hpp"
#include "tensoa/columnar/table_chunk.hpp"
#include "tensoa/columnar/table_file.hpp"
#include "tensoa/columnar/table_writer.hpp"
#include "tensoa/columnar/text_table.hpp"

// libtensoa_arrow.so: all that needs Arrow, loaded with the first file that is read or written. Loading Arrow takes 10 ms and
// 30 MB, and a program that reads no files runs where it is not installed.

namespace tensoa::columnar {

using Path = std::shared_ptr<const std::string>;

enum class InputFormat { kParquet, kArrow, kCsv, kRoot, kOther };
enum class OutputFormat { kParquet, kArrow, kCsv };

/// The members of TableChunk, which it passes on to.
class detail::ChunkRows {
 public:
  ChunkRows(Path path, std::uint64_t first_row) : path_(std::move(path)), first_row_(first_row) {}
  virtual ~ChunkRows() = default;

  const Path& path() const noexcept { return path_; }
  std::uint64_t first_row() const noexcept { return first_row_; }

  virtual std::size_t rows() const noexcept = 0;
  virtual std::size_t columns() const noexcept = 0;
  virtual const std::byte* numbers(std::size_t column, DType dtype, const NumberRules& rules,
                                   NumberMemory& memory) const = 0;
  virtual ListNumbers lists(std::size_t column, DType dtype, const NumberRules& rules,
                            NumberMemory& memory) const = 0;
  virtual std::vector<RowFault> faults(std::size_t column, DType dtype,
                                       const NumberRules& rules) const = 0;
  virtual std::vector<std::uint8_t> validity(std::size_t column) const = 0;
  virtual std::vector<std::int64_t> lengths(std::size_t column) const = 0;
  virtual TableChunk slice(std::size_t first, std::size_t count) const = 0;
  virtual TableChunk select(std::span<const std::size_t> columns) const = 0;
  virtual TableChunk filter(std::span<const std::uint8_t> keep) const = 0;
  /// @param chunks this one's is the first of several
  virtual TableChunk concatenate(std::span<const TableChunk> chunks) const = 0;

 private:
  Path path_;
  std::uint64_t first_row_;
};

/// The functions of a format that TableFile needs.
class TableFile::Format {
 public:
  Format(Path path, std::vector<FileColumn> all, std::optional<std::uint64_t> count)
      : name(std::move(path)), file_path(*name), columns(std::move(all)), rows(count) {}
  virtual ~Format() = default;

  virtual std::unique_ptr<TableParts> read(const ReadOptions& options) const = 0;
  virtual TableChunk empty_chunk(const ReadOptions& options) const = 0;

  Path name;
  std::filesystem::path file_path;
  std::vector<FileColumn> columns;
  std::optional<std::uint64_t> rows;
};

/// Where TableWriter's file is: under another name until all is written.
struct WrittenFile {
  OutputFormat format;
  std::filesystem::path path;  ///< for messages
  std::filesystem::path temporary;
};

/// The functions that EncodedRows needs.
class RowsApart {
 public:
  virtual ~RowsApart() = default;
  virtual void append(std::size_t rows, const std::vector<WrittenNumbers>& numbers,
                      const TableChunk* copied) = 0;
};

/// The functions that TableWriter needs: an open file.
class WrittenTable {
 public:
  virtual ~WrittenTable() = default;
  /// Whether rows can be encoded apart.
  virtual bool encodes() const = 0;
  /// *Threads*: safe
  virtual std::unique_ptr<RowsApart> encode_apart() const = 0;
  /// @param rows of encode_apart() of this table
  virtual void append(RowsApart& rows) = 0;
  virtual void append(std::size_t rows, const std::vector<WrittenNumbers>& numbers,
                      const TableChunk* copied) = 0;
  /// Writes the rows of another file, which lacks the first column, with their numbers in it.
  virtual void take_rows(const std::filesystem::path& path) = 0;
  virtual void close() = 0;
};

struct ArrowLibrary {
  const char* version;  ///< of tensoa: another one has other classes under these names
  /// @param format one that is read
  std::unique_ptr<TableFile::Format> (*open)(Path path, InputFormat format);
  /// @throws ConfigError for columns that the format does not have, and names that are there twice
  std::unique_ptr<WrittenTable> (*write)(const WrittenFile& file,
                                         const std::vector<WrittenColumn>& columns,
                                         const TableChunk* copied);
  std::string (*read_text)(const std::filesystem::path& path, const TextLimit& limit);
  TableChunk (*parse_text)(const std::filesystem::path& path, std::string_view text,
                           const std::vector<TextColumn>& columns, bool has_names);
};

/// Loaded by the first call, for the rest of the process. @throws LoadError
const ArrowLibrary& arrow_library();

}  // namespace tensoa::columnar

/// The only name that is looked up in the library.
extern "C" const tensoa::columnar::ArrowLibrary tensoa_arrow_library;
