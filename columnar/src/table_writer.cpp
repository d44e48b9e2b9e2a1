// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/columnar/table_writer.hpp"

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

#include "chunk_rows.hpp"
#include "nested_columns.hpp"
#include "tensoa/core/output_file.hpp"

namespace tensoa::columnar {
namespace {

namespace fs = std::filesystem;

enum class OutputFormat { kParquet, kArrow, kCsv };

OutputFormat ending_of(const fs::path& path) {
  if (path == "/dev/stdout") return OutputFormat::kCsv;
  if (path.extension() == ".parquet") return OutputFormat::kParquet;
  if (path.extension() == ".arrow") return OutputFormat::kArrow;
  if (path.extension() == ".csv") return OutputFormat::kCsv;
  throw ConfigError(path.string() + ": got the ending \"" + path.extension().string() +
                    "\", expected a file named .parquet, .arrow or .csv");
}

}  // namespace

class TableWriter::Output {
 public:
  Output(const fs::path& path, std::vector<WrittenColumn> columns, TableChunk copied)
      : ending_(ending_of(path)),
        columns_(std::move(columns)),
        copied_(std::move(copied)),
        schema_(schema_of(path, copied_)),
        file_(path),
        stream_(check(arrow::io::FileOutputStream::Open(file_.temporary().string()))) {
    if (ending_ == OutputFormat::kParquet) {
      // The types of copied columns, of which Parquet has fewer.
      const auto types = parquet::ArrowWriterProperties::Builder().store_schema()->build();
      parquet_ = check(parquet::arrow::FileWriter::Open(*schema_, arrow::default_memory_pool(),
                                                        stream_, parquet_properties(), types));
    } else if (ending_ == OutputFormat::kArrow) {
      batches_ = check(arrow::ipc::MakeFileWriter(stream_, schema_));
    } else {
      auto options = arrow::csv::WriteOptions::Defaults();
      options.quoting_style = arrow::csv::QuotingStyle::Needed;
      batches_ = check(arrow::csv::MakeCSVWriter(stream_, schema_, options));
    }
  }

  void append(std::size_t rows, const std::vector<WrittenNumbers>& numbers,
              const TableChunk& copied) {
    arrow::ArrayVector arrays;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      arrays.push_back(array_of(i, rows, numbers[i]));
    }
    const detail::ChunkRows& others = copied.get();
    for (int i = 0; i < others.batch->num_columns(); ++i) {
      const auto& column = others.batch->column(i);
      const auto& field = copied_.get().batch->schema()->field(i);
      if (!without_dictionaries(field->type())->Equals(without_dictionaries(column->type()))) {
        throw InputError(*others.path + ": the column " + field->name() + " is " +
                         column->type()->ToString() + ", in the files before it is " +
                         field->type()->ToString() + "; expected one type for all files");
      }
      arrays.push_back(as_written(column, static_cast<int>(arrays.size())));
    }
    write(static_cast<std::int64_t>(rows), std::move(arrays));
  }

  /// The same table with a further first column, and the rows of this one, which is closed.
  std::unique_ptr<Output> with_row_numbers(const std::string& name) {
    if (is_written_in_place(file_.path())) {
      throw ConfigError(file_.path().string() +
                        ": is written in place, and rows that are written get no numbers");
    }
    std::vector<WrittenColumn> columns = columns_;
    columns.insert(columns.begin(), {.name = name, .dtype = DType::kI64});
    auto numbered = std::make_unique<Output>(file_.path(), std::move(columns), copied_);
    close();
    if (ending_ == OutputFormat::kCsv) {
      numbered->take_text(file_.temporary());
    } else {
      numbered->take_rows(file_.temporary());
    }
    return numbered;
  }

  void finish() {
    close();
    file_.commit();
  }

 private:
  void close() {
    check(parquet_ ? parquet_->Close() : batches_->Close());
    check(stream_->Close());
  }

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

  /// Writes the rows of a table that lacks the first column, with their numbers.
  void take_rows(const fs::path& path) {
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
    if (ending_ == OutputFormat::kArrow) {
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

  /// The same for CSV, of which only line ends are looked for: those outside of quotes.
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
    throw OutputError("cannot write " + file_.path().string() + ": " + status.message() + detail);
  }
  template <class T>
  T check(arrow::Result<T> result) const {
    check(result.status());
    return std::move(result).ValueUnsafe();
  }

  std::shared_ptr<arrow::Schema> schema_of(const fs::path& path, const TableChunk& copied) const {
    arrow::FieldVector fields;
    for (const WrittenColumn& column : columns_) {
      const auto type = arrow_type(column.dtype, ending_ == OutputFormat::kCsv);
      fields.push_back(arrow::field(
          column.name, column.is_list ? arrow::list(arrow::field("item", type, false)) : type,
          false));
    }
    for (const auto& field : copied.get().batch->schema()->fields()) {
      // Files and row groups have dictionaries of their own, a file that is written has one at most.
      fields.push_back(field->WithNullable(true)->WithType(without_dictionaries(field->type())));
    }
    std::set<std::string> names;
    for (const auto& field : fields) {
      if (!names.insert(field->name()).second) {
        throw ConfigError(path.string() + ": would have two columns called " + field->name() +
                          "; expected names that differ");
      }
      if (ending_ == OutputFormat::kCsv && field->type()->num_fields() > 0) {
        throw ConfigError(path.string() + ": the column " + field->name() + " is " +
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
      const std::string path = column.is_list ? column.name + ".list.element" : column.name;
      properties.disable_dictionary(path);
      if (column.dtype == DType::kI64 && !column.is_list) {
        properties.encoding(path, parquet::Encoding::DELTA_BINARY_PACKED);
      }
    }
    return properties.build();
  }

  /// The numbers as an array, over their memory where Arrow has them as we do.
  std::shared_ptr<arrow::Array> array_of(std::size_t column, std::size_t rows,
                                         const WrittenNumbers& numbers) const {
    const WrittenColumn& written = columns_[column];
    const std::size_t n = written.is_list ? static_cast<std::size_t>(numbers.offsets.back()) : rows;
    auto values = values_of(written.dtype, n, numbers.data);
    if (!written.is_list) return values;
    arrow::TypedBufferBuilder<std::int32_t> offsets;
    for (const std::int64_t offset : numbers.offsets) {
      if (offset > std::numeric_limits<std::int32_t>::max()) {
        throw OutputError("cannot write " + file_.path().string() +
                          ": the lists of one chunk have more than 2^31 numbers; fewer "
                          "--rows-per-chunk may help");
      }
      check(offsets.Append(static_cast<std::int32_t>(offset)));
    }
    return std::make_shared<arrow::ListArray>(schema_->field(static_cast<int>(column))->type(),
                                              static_cast<std::int64_t>(rows),
                                              check(offsets.Finish()), values);
  }

  std::shared_ptr<arrow::Array> values_of(DType dtype, std::size_t n, const std::byte* data) const {
    const auto type = arrow_type(dtype, ending_ == OutputFormat::kCsv);
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

  OutputFormat ending_;
  std::vector<WrittenColumn> columns_;
  TableChunk copied_;  ///< without rows
  std::shared_ptr<arrow::Schema> schema_;
  OutputFile file_;
  std::shared_ptr<arrow::io::FileOutputStream> stream_;
  std::unique_ptr<parquet::arrow::FileWriter> parquet_;
  std::shared_ptr<arrow::ipc::RecordBatchWriter> batches_;
};

TableWriter::TableWriter(const fs::path& path, std::vector<WrittenColumn> columns,
                         const TableChunk& copied)
    : output_(std::make_unique<Output>(path, std::move(columns), copied)) {}

TableWriter::~TableWriter() = default;
TableWriter::TableWriter(TableWriter&&) noexcept = default;
TableWriter& TableWriter::operator=(TableWriter&&) noexcept = default;

void TableWriter::append(std::size_t rows, const std::vector<WrittenNumbers>& numbers,
                         const TableChunk& copied) {
  output_->append(rows, numbers, copied);
}

void TableWriter::number_rows(const std::string& name) {
  output_ = output_->with_row_numbers(name);
}

void TableWriter::finish() { output_->finish(); }

void require_table_ending(const fs::path& path) { ending_of(path); }

}  // namespace tensoa::columnar
