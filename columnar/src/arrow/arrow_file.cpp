// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>

#include <functional>
#include <string_view>

#include "arrow/arrow_rows.hpp"

namespace tensoa::columnar {
namespace {

constexpr const char* kDamaged = "is not an Arrow file, or is damaged or truncated";

/// Reads record batch `number`; nullptr at the end.
using ReadBatch = std::function<arrow::Result<std::shared_ptr<arrow::RecordBatch>>(int number)>;

class Batches final : public TableParts {
 public:
  /// @param goes_on whether batches can be read after one that could not
  Batches(Path path, ReadBatch read, bool goes_on, std::vector<NestedColumn> columns,
          std::size_t rows_per_chunk)
      : path_(std::move(path)),
        read_(std::move(read)),
        goes_on_(goes_on),
        columns_(std::move(columns)),
        rows_per_chunk_(rows_per_chunk) {}

  std::unique_ptr<TablePart> next() override {
    if (is_at_end_) return {};
    const int number = number_++;
    const std::string what = "record batch " + std::to_string(number) + " is damaged or truncated";
    try {
      const auto batch = require(read_(number), *path_, what);
      is_at_end_ = batch == nullptr;
      if (is_at_end_) return {};
      require(batch->Validate(), *path_, what);
      const std::uint64_t first_row = first_row_;
      first_row_ += static_cast<std::uint64_t>(batch->num_rows());
      return std::make_unique<ReadyPart>(
          chunk_of(path_, first_row, select(*batch, columns_, *path_)), rows_per_chunk_);
    } catch (const InputError& error) {
      is_at_end_ = !goes_on_;
      return std::make_unique<LostPart>(first_row_, error.what());
    }
  }

 private:
  Path path_;
  ReadBatch read_;
  bool goes_on_;
  std::vector<NestedColumn> columns_;
  std::size_t rows_per_chunk_;
  int number_ = 0;
  std::uint64_t first_row_ = 0;
  bool is_at_end_ = false;
};

arrow::ipc::IpcReadOptions in_this_thread() {
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.use_threads = false;
  return options;
}

/// Batches lie where the mapped file is.
class FileFormat final : public ArrowFormat {
 public:
  using Reader = std::shared_ptr<arrow::ipc::RecordBatchFileReader>;

  FileFormat(const Path& path, Reader reader)
      : ArrowFormat(path, reader->schema(), std::nullopt), reader_(std::move(reader)) {}

  std::unique_ptr<TableParts> read(const ReadOptions& options) const override {
    const ReadBatch read = [reader = reader_](int number) {
      return number < reader->num_record_batches()
                 ? reader->ReadRecordBatch(number)
                 : arrow::Result<std::shared_ptr<arrow::RecordBatch>>(nullptr);
    };
    return std::make_unique<Batches>(
        name, read, true, find_columns(options.columns, *schema, *name), options.rows_per_chunk);
  }

 private:
  Reader reader_;
};

std::shared_ptr<arrow::ipc::RecordBatchStreamReader> open_stream(const std::string& path) {
  const std::shared_ptr<arrow::io::InputStream> file =
      require(arrow::io::ReadableFile::Open(path), path, "cannot be opened");
  return require(arrow::ipc::RecordBatchStreamReader::Open(file, in_this_thread()), path, kDamaged);
}

class StreamFormat final : public ArrowFormat {
 public:
  using ArrowFormat::ArrowFormat;

  std::unique_ptr<TableParts> read(const ReadOptions& options) const override {
    const ReadBatch read = [reader = open_stream(*name)](int) { return reader->Next(); };
    return std::make_unique<Batches>(
        name, read, false, find_columns(options.columns, *schema, *name), options.rows_per_chunk);
  }
};

}  // namespace

std::unique_ptr<TableFile::Format> open_arrow(Path path) {
  constexpr std::string_view kMagic = "ARROW1";
  const std::shared_ptr<arrow::io::RandomAccessFile> file =
      require(arrow::io::MemoryMappedFile::Open(*path, arrow::io::FileMode::READ), *path,
              "cannot be opened");
  const auto begin =
      require(file->ReadAt(0, static_cast<std::int64_t>(kMagic.size())), *path, "cannot be read");
  if (static_cast<std::string_view>(*begin) != kMagic) {
    return std::make_unique<StreamFormat>(path, open_stream(*path)->schema(), std::nullopt);
  }
  return std::make_unique<FileFormat>(
      path,
      require(arrow::ipc::RecordBatchFileReader::Open(file, in_this_thread()), *path, kDamaged));
}

}  // namespace tensoa::columnar
