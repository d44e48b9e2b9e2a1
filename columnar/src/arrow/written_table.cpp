// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <arrow/api.h>
#include <arrow/compute/cast.h>
#include <arrow/csv/writer.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/compression.h>
#include <arrow/util/float16.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "arrow/arrow_rows.hpp"

namespace tensoa::columnar {
namespace {

namespace fs = std::filesystem;

class ArrowTable final : public WrittenTable {
 public:
  ArrowTable(const WrittenFile& file, std::vector<WrittenColumn> columns, const TableChunk* copied)
      : file_(file),
        columns_(std::move(columns)),
        copied_(copied == nullptr ? arrow::schema({}) : batch_of(*copied).schema()),
        schema_(written_schema()),
        stream_(check(arrow::io::FileOutputStream::Open(file_.temporary.string()))) {
    if (file_.format == OutputFormat::kParquet) {
      // The types of copied columns, of which Parquet has fewer.
      const auto types = parquet::ArrowWriterProperties::Builder().store_schema()->build();
      parquet_ = check(parquet::arrow::FileWriter::Open(*schema_, arrow::default_memory_pool(),
                                                        stream_, parquet_properties(), types));
    } else if (file_.format == OutputFormat::kArrow) {
      batches_ = check(arrow::ipc::MakeFileWriter(stream_, schema_));
    } else {
      auto options = arrow::csv::WriteOptions::Defaults();
      options.quoting_style = arrow::csv::QuotingStyle::Needed;
      batches_ = check(arrow::csv::MakeCSVWriter(stream_, schema_, options));
    }
  }

  void append(std::size_t rows, const std::vector<WrittenNumbers>& numbers,
              const TableChunk* copied) override {
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
    write(static_cast<std::int64_t>(rows), std::move(arrays));
  }

  void take_rows(const fs::path& path) override {
    file_.format == OutputFormat::kCsv ? take_text(path) : take_batches(path);
  }

  void close() override {
    check(parquet_ ? parquet_->Close() : batches_->Close());
    check(stream_->Close());
  }

 private:
  /// An array as the type of a column of the output.
  std::shared_ptr<arrow::Array> as_written(const std::shared_ptr<arrow::Array>& array,
                                           int column) const {
    const auto& type = schema_->field(column)->type();
    return array->type()->Equals(*type) ? array : check(arrow::compute::Cast(*array, type));
  }

  void write(std::int64_t rows, arrow::ArrayVector arrays) {
    const auto batch = arrow::RecordBatch::Make(schema_, rows, std::move(arrays));
    check(parquet_ ? parquet_->WriteRecordBatch(*batch) : batches_->WriteRecordBatch(*batch));
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
        arrays.push_back(as_written(batch.column(i), i + 1));
      }
      write(batch.num_rows(), std::move(arrays));
    };
    if (file_.format == OutputFormat::kArrow) {
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
  std::shared_ptr<arrow::io::FileOutputStream> stream_;
  std::unique_ptr<parquet::arrow::FileWriter> parquet_;
  std::shared_ptr<arrow::ipc::RecordBatchWriter> batches_;
};

}  // namespace

std::unique_ptr<WrittenTable> write_table(const WrittenFile& file,
                                          const std::vector<WrittenColumn>& columns,
                                          const TableChunk* copied) {
  return std::make_unique<ArrowTable>(file, columns, copied);
}

}  // namespace tensoa::columnar
