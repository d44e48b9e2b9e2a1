// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <arrow/io/file.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include <set>
#include <span>
#include <utility>

#include "arrow/arrow_rows.hpp"

namespace tensoa::columnar {
namespace {

using File = std::shared_ptr<arrow::io::RandomAccessFile>;
using MetaData = std::shared_ptr<parquet::FileMetaData>;

/// Exceptions of this library, as the error of a file.
template <class Function>
auto guarded(const std::string& path, const std::string& what, const Function& function) {
  try {
    return function();
  } catch (const parquet::ParquetStatusException& error) {
    require(error.status(), path, what);
    throw;
  } catch (const parquet::ParquetException& error) {
    throw InputError(path + ": " + what + ": " + shortened(error.what()));
  }
}

/// A buffer for each column: a row group need not be in memory.
parquet::ReaderProperties reader_properties() {
  constexpr std::int64_t kBuffer = 1 << 18;
  parquet::ReaderProperties properties = parquet::default_reader_properties();
  properties.enable_buffered_stream();
  properties.set_buffer_size(kBuffer);
  return properties;
}

std::unique_ptr<parquet::arrow::FileReader> reader_of(const std::string& path, const File& file,
                                                      const MetaData& metadata,
                                                      std::size_t rows_per_chunk) {
  return guarded(path, "is not a Parquet file, or is damaged or truncated", [&] {
    parquet::ArrowReaderProperties properties;
    properties.set_batch_size(static_cast<std::int64_t>(rows_per_chunk));
    properties.set_pre_buffer(false);
    parquet::arrow::FileReaderBuilder builder;
    const std::string what = "is not a Parquet file, or is damaged or truncated";
    require(builder.Open(file, reader_properties(), metadata), path, what);
    builder.properties(properties);
    return require(builder.Build(), path, what);
  });
}

/// Shared by the parts of a file.
struct OpenFile {
  Path path;
  File file;
  MetaData metadata;
  std::vector<int> leaves;         ///< of the columns that are read
  std::vector<std::string> names;  ///< of these
  std::size_t rows_per_chunk = 0;
};

class RowGroup final : public TablePart {
 public:
  RowGroup(std::shared_ptr<const OpenFile> source, int number, std::uint64_t first_row)
      : source_(std::move(source)), number_(number), first_row_(first_row) {
    rows_ = static_cast<std::uint64_t>(source_->metadata->RowGroup(number)->num_rows());
  }

  std::uint64_t first_row() const noexcept override { return first_row_; }
  std::optional<std::uint64_t> rows() const noexcept override { return rows_; }

  std::optional<TableChunk> next() override {
    const std::string what = "row group " + std::to_string(number_) + ", row " +
                             std::to_string(first_row_ + done_) +
                             ": is damaged, truncated or cannot be read";
    return guarded(*source_->path, what, [&]() -> std::optional<TableChunk> {
      if (!batches_) {
        require_no_more_values();
        reader_ =
            reader_of(*source_->path, source_->file, source_->metadata, source_->rows_per_chunk);
        batches_ = require(reader_->GetRecordBatchReader({number_}, source_->leaves),
                           *source_->path, what);
        // Of structs only the fields that are read.
        columns_ = find_columns(source_->names, *batches_->schema(), *source_->path);
      }
      std::shared_ptr<arrow::RecordBatch> batch;
      while (!batch || batch->num_rows() == 0) {
        require(batches_->ReadNext(&batch), *source_->path, what);
        if (batch) continue;
        if (done_ == rows_) return {};
        throw InputError(*source_->path + ": " + what + ": it ends after " + std::to_string(done_) +
                         " of " + std::to_string(rows_) + " rows");
      }
      const std::uint64_t first = first_row_ + done_;
      done_ += static_cast<std::uint64_t>(batch->num_rows());
      return chunk_of(source_->path, first, select(*batch, columns_, *source_->path));
    });
  }

 private:
  /// A column with more values than the group has rows would lose some. Of lists the number of values says nothing.
  void require_no_more_values() const {
    const auto group = source_->metadata->RowGroup(number_);
    for (const int leaf : source_->leaves) {
      const parquet::ColumnDescriptor& column = *source_->metadata->schema()->Column(leaf);
      const auto values = static_cast<std::uint64_t>(group->ColumnChunk(leaf)->num_values());
      if (column.max_repetition_level() > 0 || values <= rows_) continue;
      throw InputError(*source_->path + ": row group " + std::to_string(number_) +
                       ": is damaged: it has " + std::to_string(rows_) + " rows, and column " +
                       column.path()->ToDotString() + " " + std::to_string(values) + " values");
    }
  }

  std::shared_ptr<const OpenFile> source_;
  int number_;
  std::uint64_t first_row_;
  std::uint64_t rows_ = 0;
  std::uint64_t done_ = 0;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::unique_ptr<arrow::RecordBatchReader> batches_;
  std::vector<NestedColumn> columns_;
};

class RowGroups final : public TableParts {
 public:
  explicit RowGroups(std::shared_ptr<const OpenFile> source) : source_(std::move(source)) {}

  std::unique_ptr<TablePart> next() override {
    if (next_ == source_->metadata->num_row_groups()) return end();
    auto group = std::make_unique<RowGroup>(source_, next_++, first_row_);
    first_row_ += *group->rows();
    return group;
  }

 private:
  /// A part that is an error, once, where the rows of the groups are not those of the file.
  std::unique_ptr<TablePart> end() {
    const auto rows = static_cast<std::uint64_t>(source_->metadata->num_rows());
    const std::uint64_t read = std::exchange(first_row_, rows);
    if (read == rows) return {};
    return std::make_unique<LostPart>(
        read, *source_->path + ": is damaged: it has " + std::to_string(rows) +
                  " rows, and its row groups " + std::to_string(read));
  }

  std::shared_ptr<const OpenFile> source_;
  int next_ = 0;
  std::uint64_t first_row_ = 0;
};

using parquet::arrow::SchemaField;

/// A column of the file, or a field of one.
const SchemaField& field_at(const std::vector<SchemaField>& columns, std::span<const int> places) {
  const SchemaField* field = &columns[static_cast<std::size_t>(places.front())];
  for (const int place : places.subspan(1)) {
    while (element_type(*field->field->type()) != nullptr) field = &field->children.front();
    field = &field->children[static_cast<std::size_t>(place)];
  }
  return *field;
}

void add_leaves(const SchemaField& field, std::set<int>& leaves) {
  if (field.children.empty()) leaves.insert(field.column_index);
  for (const SchemaField& child : field.children) add_leaves(child, leaves);
}

class ParquetFormat final : public ArrowFormat {
 public:
  ParquetFormat(const Path& path, File file, MetaData metadata,
                std::shared_ptr<arrow::Schema> of_file, std::vector<SchemaField> fields)
      : ArrowFormat(path, std::move(of_file), static_cast<std::uint64_t>(metadata->num_rows())),
        file_(std::move(file)),
        metadata_(std::move(metadata)),
        fields_(std::move(fields)) {}

  std::unique_ptr<TableParts> read(const ReadOptions& options) const override {
    std::set<int> leaves;
    for (const NestedColumn& column : find_columns(options.columns, *schema, *name)) {
      add_leaves(field_at(fields_, column.places), leaves);
    }
    return std::make_unique<RowGroups>(
        std::make_shared<const OpenFile>(OpenFile{name,
                                                  file_,
                                                  metadata_,
                                                  {leaves.begin(), leaves.end()},
                                                  options.columns,
                                                  options.rows_per_chunk}));
  }

 private:
  File file_;
  MetaData metadata_;
  std::vector<SchemaField> fields_;
};

}  // namespace

std::unique_ptr<TableFile::Format> open_parquet(Path path) {
  const File file = require(arrow::io::ReadableFile::Open(*path), *path, "cannot be opened");
  const auto reader = reader_of(*path, file, nullptr, 1);
  std::shared_ptr<arrow::Schema> schema;
  require(reader->GetSchema(&schema), *path, "has columns that cannot be read");
  return std::make_unique<ParquetFormat>(path, file, reader->parquet_reader()->metadata(),
                                         std::move(schema), reader->manifest().schema_fields);
}

}  // namespace tensoa::columnar
