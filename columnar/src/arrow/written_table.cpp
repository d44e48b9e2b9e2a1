// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <arrow/api.h>
#include <arrow/compute/cast.h>
#include <arrow/csv/writer.h>
#include <arrow/io/file.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/compression.h>
#include <arrow/util/float16.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>
#include <parquet/file_writer.h>
#include <parquet/metadata.h>
#include <parquet/statistics.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "arrow/arrow_rows.hpp"

namespace tensoa::columnar {
namespace {

namespace fs = std::filesystem;

/// The format of the rows of a file: does not change while it is written, and is shared by all who encode some.
class RowFormat {
 public:
  RowFormat(const WrittenFile& file, std::vector<WrittenColumn> columns, const TableChunk* copied)
      : file_(file),
        columns_(std::move(columns)),
        copied_(copied == nullptr ? arrow::schema({}) : batch_of(*copied).schema()),
        schema_(written_schema()),
        properties_(parquet_properties()) {}

  const WrittenFile& file() const { return file_; }
  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  const std::shared_ptr<parquet::WriterProperties>& properties() const { return properties_; }

  std::shared_ptr<arrow::RecordBatch> batch(std::size_t rows,
                                            const std::vector<WrittenNumbers>& numbers,
                                            const TableChunk* copied) const {
    if (copied == nullptr && copied_->num_fields() > 0) {
      throw ConfigError(file_.path.string() + ": has copied columns; expected their rows, too");
    }
    arrow::ArrayVector arrays;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      arrays.push_back(array_of(i, rows, numbers[i]));
    }
    for (int i = 0; i < copied_->num_fields(); ++i) {
      const auto& column = batch_of(*copied).column(i);
      const auto& field = copied_->field(i);
      if (!without_dictionaries(field->type())->Equals(without_dictionaries(column->type()))) {
        throw InputError(*copied->get().path() + ": the column " + field->name() + " is " +
                         column->type()->ToString() + ", in the files before it is " +
                         field->type()->ToString() + "; expected one type for all files");
      }
      arrays.push_back(as_written(column, static_cast<int>(arrays.size())));
    }
    return batch(static_cast<std::int64_t>(rows), std::move(arrays));
  }

  std::shared_ptr<arrow::RecordBatch> batch(std::int64_t rows, arrow::ArrayVector arrays) const {
    return arrow::RecordBatch::Make(schema_, rows, std::move(arrays));
  }

  /// An array as the type of a column of the output.
  std::shared_ptr<arrow::Array> as_written(const std::shared_ptr<arrow::Array>& array,
                                           int column) const {
    const auto& type = schema_->field(column)->type();
    return array->type()->Equals(*type) ? array : check(arrow::compute::Cast(*array, type));
  }

  void check(const arrow::Status& status) const {
    if (status.ok()) return;
    const std::string detail = status.detail() ? ": " + status.detail()->ToString() : "";
    throw OutputError("cannot write " + file_.path.string() + ": " + status.message() + detail);
  }
  template <class T>
  T check(arrow::Result<T> result) const {
    check(result.status());
    return std::move(result).ValueUnsafe();
  }

 private:
  /// @throws ConfigError
  std::shared_ptr<arrow::Schema> written_schema() const {
    arrow::FieldVector fields;
    for (const WrittenColumn& column : columns_) {
      const auto type = column.cells == Cells::kTexts
                            ? arrow::utf8()
                            : arrow_type(column.dtype, file_.format == OutputFormat::kCsv);
      const bool is_list = column.cells == Cells::kLists;
      fields.push_back(arrow::field(
          column.name, is_list ? arrow::list(arrow::field("item", type, false)) : type, false));
    }
    for (const auto& field : copied_->fields()) {
      // Files and row groups have dictionaries of their own, a file that is written has one at most.
      fields.push_back(field->WithNullable(true)->WithType(without_dictionaries(field->type())));
    }
    std::set<std::string> names;
    for (const auto& field : fields) {
      if (!names.insert(field->name()).second) {
        throw ConfigError(file_.path.string() + ": would have two columns called " + field->name() +
                          "; expected names that differ");
      }
      if (file_.format == OutputFormat::kCsv && field->type()->num_fields() > 0) {
        throw ConfigError(file_.path.string() + ": the column " + field->name() + " is " +
                          field->type()->ToString() +
                          ", which CSV has not; expected a file named .parquet or .arrow");
      }
    }
    return arrow::schema(std::move(fields));
  }

  /// Numbers of a model rarely repeat: no dictionaries of them.
  std::shared_ptr<parquet::WriterProperties> parquet_properties() const {
    parquet::WriterProperties::Builder properties;
    if (arrow::util::Codec::IsAvailable(arrow::Compression::ZSTD)) {
      properties.compression(arrow::Compression::ZSTD);
    }
    for (const WrittenColumn& column : columns_) {
      if (column.cells == Cells::kTexts) continue;
      const bool is_list = column.cells == Cells::kLists;
      const std::string path = is_list ? column.name + ".list.element" : column.name;
      properties.disable_dictionary(path);
      if (column.dtype == DType::kI64 && !is_list) {
        properties.encoding(path, parquet::Encoding::DELTA_BINARY_PACKED);
      }
    }
    return properties.build();
  }

  /// The numbers as an array, over their memory where Arrow has them as we do.
  std::shared_ptr<arrow::Array> array_of(std::size_t column, std::size_t rows,
                                         const WrittenNumbers& numbers) const {
    const WrittenColumn& written = columns_[column];
    if (written.cells == Cells::kNumbers) return values_of(written.dtype, rows, numbers.data);
    arrow::TypedBufferBuilder<std::int32_t> offsets;
    for (const std::int64_t offset : numbers.offsets) {
      if (offset > std::numeric_limits<std::int32_t>::max()) {
        throw OutputError("cannot write " + file_.path.string() +
                          ": the lists or texts of one chunk have more than 2^31 elements; fewer "
                          "--rows-per-chunk may help");
      }
      check(offsets.Append(static_cast<std::int32_t>(offset)));
    }
    const auto count = static_cast<std::int64_t>(rows);
    const auto n = static_cast<std::size_t>(numbers.offsets.back());
    const auto ends = check(offsets.Finish());
    if (written.cells == Cells::kTexts) {
      auto letters = std::make_shared<arrow::Buffer>(
          reinterpret_cast<const std::uint8_t*>(numbers.data), static_cast<std::int64_t>(n));
      return std::make_shared<arrow::StringArray>(count, ends, std::move(letters));
    }
    return std::make_shared<arrow::ListArray>(schema_->field(static_cast<int>(column))->type(),
                                              count, ends,
                                              values_of(written.dtype, n, numbers.data));
  }

  std::shared_ptr<arrow::Array> values_of(DType dtype, std::size_t n, const std::byte* data) const {
    const auto type = arrow_type(dtype, file_.format == OutputFormat::kCsv);
    const auto rows = static_cast<std::int64_t>(n);
    if (dtype == DType::kBool) {
      arrow::BooleanBuilder bits;
      check(bits.AppendValues(reinterpret_cast<const std::uint8_t*>(data), rows));
      return check(bits.Finish());
    }
    if (type->id() == arrow::Type::FLOAT && dtype != DType::kF32) {
      arrow::FloatBuilder floats;
      check(floats.Reserve(rows));
      for (std::size_t i = 0; i < n; ++i) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, data + i * sizeof(bits), sizeof(bits));
        floats.UnsafeAppend(dtype == DType::kF16
                                ? arrow::util::Float16::FromBits(bits).ToFloat()
                                : std::bit_cast<float>(std::uint32_t{bits} << 16U));
      }
      return check(floats.Finish());
    }
    const auto bytes = static_cast<std::int64_t>(n * size_of(dtype));
    auto memory =
        std::make_shared<arrow::Buffer>(reinterpret_cast<const std::uint8_t*>(data), bytes);
    return arrow::MakeArray(arrow::ArrayData::Make(type, rows, {nullptr, std::move(memory)}, 0));
  }

  WrittenFile file_;
  std::vector<WrittenColumn> columns_;
  std::shared_ptr<arrow::Schema> copied_;
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<parquet::WriterProperties> properties_;
};

using Format = std::shared_ptr<const RowFormat>;

/// Row groups of a Parquet file, in memory: each a whole file.
class GroupsInMemory final : public RowsApart {
 public:
  explicit GroupsInMemory(Format format)
      : format_(std::move(format)),
        memory_(format_->check(arrow::io::BufferOutputStream::Create())) {
    // The types of copied columns, of which Parquet has fewer.
    const auto types = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    writer_ = format_->check(parquet::arrow::FileWriter::Open(
        *format_->schema(), arrow::default_memory_pool(), memory_, format_->properties(), types));
  }

  void append(std::size_t rows, const std::vector<WrittenNumbers>& numbers,
              const TableChunk* copied) override {
    append(*format_->batch(rows, numbers, copied));
  }
  void append(const arrow::RecordBatch& batch) {
    format_->check(writer_->WriteRecordBatch(batch));
    rows_ += batch.num_rows();
  }

  std::int64_t rows() const { return rows_; }

  struct File {
    std::shared_ptr<parquet::FileMetaData> metadata;
    std::shared_ptr<arrow::Buffer> bytes;
  };
  File finish() {
    format_->check(writer_->Close());
    return {writer_->metadata(), format_->check(memory_->Finish())};
  }

 private:
  Format format_;
  std::shared_ptr<arrow::io::BufferOutputStream> memory_;
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
  std::int64_t rows_ = 0;
};

/// A Parquet file of row groups that were encoded elsewhere: their bytes one after the other, and what the files in which they
/// were say of them, with the places that they have here.
class FileOfGroups {
 public:
  FileOfGroups(Format format, std::shared_ptr<arrow::io::OutputStream> stream)
      : format_(std::move(format)),
        stream_(std::move(stream)),
        empty_(GroupsInMemory(format_).finish().metadata),
        metadata_(parquet::FileMetaDataBuilder::Make(empty_->schema(), format_->properties())) {
    format_->check(stream_->Write(kMagic));
  }

  void append(GroupsInMemory& groups) {
    const GroupsInMemory::File file = groups.finish();
    for (int i = 0; i < file.metadata->num_row_groups(); ++i) {
      append(*file.metadata->RowGroup(i), *file.bytes);
    }
  }

  void close() {
    try {
      const auto metadata = metadata_->Finish(empty_->key_value_metadata());
      parquet::WriteFileMetaData(*metadata, stream_.get());
    } catch (const parquet::ParquetException& error) {
      format_->check(arrow::Status::IOError(error.what()));
    }
  }

 private:
  static constexpr std::string_view kMagic = "PAR1";

  void append(const parquet::RowGroupMetaData& group, const arrow::Buffer& bytes) {
    parquet::RowGroupMetaDataBuilder* const here = metadata_->AppendRowGroup();
    here->set_num_rows(group.num_rows());
    for (int i = 0; i < group.num_columns(); ++i) {
      const auto column = group.ColumnChunk(i);
      const bool has_dictionary = column->has_dictionary_page();
      const std::int64_t first =
          has_dictionary ? column->dictionary_page_offset() : column->data_page_offset();
      const std::int64_t moved = format_->check(stream_->Tell()) - first;
      format_->check(stream_->Write(bytes.data() + first, column->total_compressed_size()));
      describe(*column, moved, *here->NextColumnChunk());
    }
    here->Finish(group.total_byte_size());
  }

  /// Says of a column of a row group what was said of it, `moved` bytes on.
  static void describe(const parquet::ColumnChunkMetaData& column, std::int64_t moved,
                       parquet::ColumnChunkMetaDataBuilder& here) {
    if (column.is_stats_set()) here.SetStatistics(*column.encoded_statistics());
    if (const auto sizes = column.size_statistics()) here.SetSizeStatistics(*sizes);
    std::map<parquet::Encoding::type, std::int32_t> of_dictionary, of_data;
    for (const parquet::PageEncodingStats& pages : column.encoding_stats()) {
      (pages.page_type == parquet::PageType::DICTIONARY_PAGE ? of_dictionary
                                                             : of_data)[pages.encoding] +=
          pages.count;
    }
    const bool has_dictionary = column.has_dictionary_page();
    const bool fell_back = has_dictionary && of_data.size() > 1;
    here.Finish(column.num_values(), has_dictionary ? column.dictionary_page_offset() + moved : 0,
                0, column.data_page_offset() + moved, column.total_compressed_size(),
                column.total_uncompressed_size(), has_dictionary, fell_back, of_dictionary,
                of_data);
  }

  Format format_;
  std::shared_ptr<arrow::io::OutputStream> stream_;
  std::shared_ptr<parquet::FileMetaData> empty_;  ///< of a file without rows
  std::unique_ptr<parquet::FileMetaDataBuilder> metadata_;
};

class ArrowTable final : public WrittenTable {
 public:
  ArrowTable(const WrittenFile& file, std::vector<WrittenColumn> columns, const TableChunk* copied)
      : format_(std::make_shared<const RowFormat>(file, std::move(columns), copied)),
        stream_(check(arrow::io::FileOutputStream::Open(file.temporary.string()))) {
    if (file.format == OutputFormat::kParquet) {
      parquet_.emplace(format_, stream_);
    } else if (file.format == OutputFormat::kArrow) {
      batches_ = check(arrow::ipc::MakeFileWriter(stream_, format_->schema()));
    } else {
      auto options = arrow::csv::WriteOptions::Defaults();
      options.quoting_style = arrow::csv::QuotingStyle::Needed;
      batches_ = check(arrow::csv::MakeCSVWriter(stream_, format_->schema(), options));
    }
  }

  bool encodes() const override { return parquet_.has_value(); }

  std::unique_ptr<RowsApart> encode_apart() const override {
    return std::make_unique<GroupsInMemory>(format_);
  }

  void append(RowsApart& rows) override {
    write_waiting();
    parquet_->append(static_cast<GroupsInMemory&>(rows));
  }

  void append(std::size_t rows, const std::vector<WrittenNumbers>& numbers,
              const TableChunk* copied) override {
    write(*format_->batch(rows, numbers, copied));
  }

  void take_rows(const fs::path& path) override {
    format_->file().format == OutputFormat::kCsv ? take_text(path) : take_batches(path);
  }

  void close() override {
    if (parquet_) {
      write_waiting();
      parquet_->close();
    } else {
      check(batches_->Close());
    }
    check(stream_->Close());
  }

 private:
  static constexpr std::int64_t kRowsOfGroup = std::int64_t{1} << 20U;

  void write(const arrow::RecordBatch& batch) {
    if (!parquet_) return check(batches_->WriteRecordBatch(batch));
    if (!waiting_) waiting_ = std::make_unique<GroupsInMemory>(format_);
    waiting_->append(batch);
    if (waiting_->rows() >= kRowsOfGroup) write_waiting();
  }

  void write_waiting() {
    if (waiting_) parquet_->append(*waiting_);
    waiting_.reset();
  }

  void take_batches(const fs::path& path) {
    const std::shared_ptr<arrow::io::RandomAccessFile> file =
        check(arrow::io::ReadableFile::Open(path.string()));
    std::int64_t next = 0;
    const auto take = [&](const arrow::RecordBatch& batch) {
      arrow::Int64Builder numbers;
      check(numbers.Reserve(batch.num_rows()));
      for (std::int64_t i = 0; i < batch.num_rows(); ++i) numbers.UnsafeAppend(next++);
      arrow::ArrayVector arrays{check(numbers.Finish())};
      for (int i = 0; i < batch.num_columns(); ++i) {
        arrays.push_back(format_->as_written(batch.column(i), i + 1));
      }
      write(*format_->batch(batch.num_rows(), std::move(arrays)));
    };
    if (format_->file().format == OutputFormat::kArrow) {
      const auto reader = check(arrow::ipc::RecordBatchFileReader::Open(file));
      for (int i = 0; i < reader->num_record_batches(); ++i) {
        take(*check(reader->ReadRecordBatch(i)));
      }
      return;
    }
    const auto reader = check(parquet::arrow::OpenFile(file, arrow::default_memory_pool()));
    const auto batches = check(reader->GetRecordBatchReader());
    std::shared_ptr<arrow::RecordBatch> batch;
    while (check(batches->ReadNext(&batch)), batch) take(*batch);
  }

  /// Of CSV only line ends are looked for: those outside of quotes.
  void take_text(const fs::path& path) {
    constexpr std::int64_t kBlock = 1 << 20;
    const auto file = check(arrow::io::ReadableFile::Open(path.string()));
    std::int64_t line = -1;  // that of the names
    bool is_quoted = false;
    bool is_begin = false;
    while (true) {
      const auto block = check(file->Read(kBlock));
      if (block->size() == 0) return;
      std::string text;
      for (const char c : static_cast<std::string_view>(*block)) {
        if (std::exchange(is_begin, false)) text += std::to_string(line) + ',';
        if (line >= 0) text += c;
        if (c == '"') is_quoted = !is_quoted;
        if (c != '\n' || is_quoted) continue;
        ++line;
        is_begin = true;
      }
      check(stream_->Write(text));
    }
  }

  void check(const arrow::Status& status) const { format_->check(status); }
  template <class T>
  T check(arrow::Result<T> result) const {
    return format_->check(std::move(result));
  }

  Format format_;
  std::shared_ptr<arrow::io::FileOutputStream> stream_;
  std::optional<FileOfGroups> parquet_;
  std::unique_ptr<GroupsInMemory> waiting_;  ///< rows of a group that is not full
  std::shared_ptr<arrow::ipc::RecordBatchWriter> batches_;
};

}  // namespace

std::unique_ptr<WrittenTable> write_table(const WrittenFile& file,
                                          const std::vector<WrittenColumn>& columns,
                                          const TableChunk* copied) {
  return std::make_unique<ArrowTable>(file, columns, copied);
}

}  // namespace tensoa::columnar
