// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <arrow/io/file.h>
#include <arrow/ipc/message.h>
#include <arrow/ipc/reader.h>

#include <functional>
#include <string_view>

#include "arrow/arrow_rows.hpp"

namespace tensoa::columnar {
namespace {

constexpr const char* kDamaged = "is not an Arrow file, or is damaged or truncated";

using File = std::shared_ptr<arrow::io::RandomAccessFile>;

/// Reads record batch `number`; nullptr at the end.
using ReadBatch = std::function<arrow::Result<std::shared_ptr<arrow::RecordBatch>>(int number)>;

/// How many rows record batch `number` has, which could not be read.
using CountRows = std::function<arrow::Result<std::int64_t>(int number)>;

class Batches final : public TableParts {
 public:
  /// @param count without it, or where it fails, a batch that cannot be read is the last: nothing says which number the next row has
  Batches(Path path, ReadBatch read, CountRows count, std::vector<NestedColumn> columns,
          std::size_t rows_per_chunk)
      : path_(std::move(path)),
        read_(std::move(read)),
        count_(std::move(count)),
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
      auto part = std::make_unique<ReadyPart>(
          chunk_of(path_, first_row_, select(*batch, columns_, *path_)), rows_per_chunk_);
      first_row_ += static_cast<std::uint64_t>(batch->num_rows());
      return part;
    } catch (const InputError& error) {
      const std::uint64_t first_row = first_row_;
      const auto rows = count_ ? count_(number) : arrow::Status::NotImplemented("");
      is_at_end_ = !rows.ok();
      if (rows.ok()) first_row_ += static_cast<std::uint64_t>(*rows);
      return std::make_unique<LostPart>(first_row, error.what());
    }
  }

 private:
  Path path_;
  ReadBatch read_;
  CountRows count_;
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

/// How many rows a record batch has whose columns cannot be read: of the messages of a file, which lie one after the other, no
/// column is read.
arrow::Result<std::int64_t> rows_of(const File& file, int number) {
  constexpr std::int64_t kBegin = 8;  // after the name of the format
  ARROW_ASSIGN_OR_RAISE(const std::int64_t size, file->GetSize());
  ARROW_ASSIGN_OR_RAISE(const auto messages,
                        arrow::io::RandomAccessFile::GetStream(file, kBegin, size - kBegin));
  for (int next = 0; true;) {
    ARROW_ASSIGN_OR_RAISE(const auto message, arrow::ipc::ReadMessage(messages.get()));
    if (message == nullptr) return arrow::Status::Invalid("there is no such record batch");
    if (message->type() != arrow::ipc::MessageType::RECORD_BATCH || next++ < number) continue;
    ARROW_ASSIGN_OR_RAISE(const auto batch, arrow::ipc::ReadRecordBatch(*message, arrow::schema({}),
                                                                        nullptr, in_this_thread()));
    if (batch->num_rows() < 0) return arrow::Status::Invalid("a negative number of rows");
    return batch->num_rows();
  }
}

/// Batches lie where the mapped file is.
class FileFormat final : public ArrowFormat {
 public:
  using Reader = std::shared_ptr<arrow::ipc::RecordBatchFileReader>;

  FileFormat(const Path& path, File file, Reader reader)
      : ArrowFormat(path, reader->schema(), std::nullopt),
        file_(std::move(file)),
        reader_(std::move(reader)) {}

  std::unique_ptr<TableParts> read(const ReadOptions& options) const override {
    const ReadBatch read = [reader = reader_](int number) {
      return number < reader->num_record_batches()
                 ? reader->ReadRecordBatch(number)
                 : arrow::Result<std::shared_ptr<arrow::RecordBatch>>(nullptr);
    };
    const CountRows count = [file = file_](int number) { return rows_of(file, number); };
    return std::make_unique<Batches>(
        name, read, count, find_columns(options.columns, *schema, *name), options.rows_per_chunk);
  }

 private:
  File file_;
  Reader reader_;
};

/// The messages of a file. Remembers what is wrong where they end, which Arrow does not say.
class Messages final : public arrow::ipc::MessageReader {
 public:
  explicit Messages(const std::string& path)
      : file_(require(arrow::io::ReadableFile::Open(path), path, "cannot be opened")),
        messages_(arrow::ipc::MessageReader::Open(file_)) {}

  arrow::Result<std::unique_ptr<arrow::ipc::Message>> ReadNextMessage() override {
    ARROW_ASSIGN_OR_RAISE(const std::int64_t begin, file_->Tell());
    ARROW_ASSIGN_OR_RAISE(auto message, messages_->ReadNextMessage());
    if (message == nullptr) {
      ARROW_ASSIGN_OR_RAISE(const std::int64_t end, file_->Tell());
      ARROW_ASSIGN_OR_RAISE(const std::int64_t size, file_->GetSize());
      // The format lets a writer leave the marker out, but then its file looks like that of a writer that was killed.
      if (end == begin) {
        wrong_end_ =
            "ends without an end-of-stream marker: rows may be missing; write the file again, and "
            "close the writer";
      } else if (end < size) {
        wrong_end_ = "has " + std::to_string(size - end) +
                     " bytes after its end-of-stream marker, which are not read; write each stream "
                     "to a separate file";
      }
    }
    return message;
  }

  /// Empty where nothing is wrong.
  const std::string& wrong_end() const { return wrong_end_; }

 private:
  std::shared_ptr<arrow::io::ReadableFile> file_;
  std::unique_ptr<arrow::ipc::MessageReader> messages_;
  std::string wrong_end_;
};

class Stream {
 public:
  explicit Stream(Path path) : path_(std::move(path)) {
    auto messages = std::make_unique<Messages>(*path_);
    messages_ = messages.get();
    reader_ =
        require(arrow::ipc::RecordBatchStreamReader::Open(std::move(messages), in_this_thread()),
                *path_, kDamaged);
  }

  std::shared_ptr<arrow::Schema> schema() const { return reader_->schema(); }

  /// nullptr at the end
  arrow::Result<std::shared_ptr<arrow::RecordBatch>> next() {
    ARROW_ASSIGN_OR_RAISE(auto batch, reader_->Next());
    if (batch == nullptr && !messages_->wrong_end().empty()) {
      throw InputError(*path_ + ": " + messages_->wrong_end());
    }
    return batch;
  }

 private:
  Path path_;
  const Messages* messages_;  ///< of the reader
  std::shared_ptr<arrow::ipc::RecordBatchStreamReader> reader_;
};

class StreamFormat final : public ArrowFormat {
 public:
  using ArrowFormat::ArrowFormat;

  std::unique_ptr<TableParts> read(const ReadOptions& options) const override {
    const ReadBatch read = [stream = std::make_shared<Stream>(name)](int) {
      return stream->next();
    };
    return std::make_unique<Batches>(
        name, read, nullptr, find_columns(options.columns, *schema, *name), options.rows_per_chunk);
  }
};

}  // namespace

std::unique_ptr<TableFile::Format> open_arrow(Path path) {
  constexpr std::string_view kMagic = "ARROW1";
  const File file = require(arrow::io::MemoryMappedFile::Open(*path, arrow::io::FileMode::READ),
                            *path, "cannot be opened");
  const auto begin =
      require(file->ReadAt(0, static_cast<std::int64_t>(kMagic.size())), *path, "cannot be read");
  if (static_cast<std::string_view>(*begin) != kMagic) {
    return std::make_unique<StreamFormat>(path, Stream(path).schema(), std::nullopt);
  }
  return std::make_unique<FileFormat>(
      path, file,
      require(arrow::ipc::RecordBatchFileReader::Open(file, in_this_thread()), *path, kDamaged));
}

}  // namespace tensoa::columnar
