// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <arrow/csv/api.h>
#include <arrow/io/compressed.h>
#include <arrow/io/file.h>
#include <arrow/util/compression.h>

#include <cctype>
#include <cmath>
#include <set>
#include <string_view>
#include <vector>

#include "arrow/arrow_rows.hpp"

namespace tensoa::columnar {
namespace {

using Reader = std::shared_ptr<arrow::csv::StreamingReader>;

constexpr const char* kNotCsv = "is not CSV with a line of names, or is damaged";

std::shared_ptr<arrow::io::InputStream> open_text(const std::string& path) {
  std::shared_ptr<arrow::io::InputStream> stream =
      require(arrow::io::ReadableFile::Open(path), path, "cannot be opened");
  if (!path.ends_with(".gz")) return stream;
  // It has no state, and the stream does not keep it.
  static const std::unique_ptr<arrow::util::Codec> codec =
      require(arrow::util::Codec::Create(arrow::Compression::GZIP), path, "cannot be unpacked");
  return require(arrow::io::CompressedInputStream::Make(codec.get(), stream), path, "is not gzip");
}

/// The separator of columns: where the line of names has no comma, a semicolon or a tab in it.
char delimiter_of(const std::string& path) {
  constexpr std::int64_t kMostOfLine = 1 << 16;
  const auto begin = require(open_text(path)->Read(kMostOfLine), path, kNotCsv);
  const std::string_view text(*begin);
  const std::string_view names = text.substr(0, text.find('\n'));
  for (const char delimiter : {',', ';', '\t'}) {
    if (names.find(delimiter) != std::string_view::npos) return delimiter;
  }
  return ',';
}

Reader open(const std::string& path, arrow::csv::ConvertOptions convert) {
  auto read = arrow::csv::ReadOptions::Defaults();
  read.use_threads = false;
  // "nan" is a number here.
  convert.null_values = {"", "NULL", "null", "NA", "N/A", "n/a", "#N/A"};
  auto parse = arrow::csv::ParseOptions::Defaults();
  parse.delimiter = delimiter_of(path);
  return require(arrow::csv::StreamingReader::Make(arrow::io::default_io_context(), open_text(path),
                                                   read, parse, convert),
                 path, kNotCsv);
}

arrow::csv::ConvertOptions numbers_of(const ReadOptions& options) {
  auto convert = arrow::csv::ConvertOptions::Defaults();
  convert.include_columns = options.columns;
  for (const auto& [column, dtype] : options.text_types) {
    convert.column_types[column] = arrow_type(dtype, true);
  }
  return convert;
}

arrow::csv::ConvertOptions texts_of(const std::vector<std::string>& columns) {
  auto convert = arrow::csv::ConvertOptions::Defaults();
  convert.include_columns = columns;
  for (const std::string& column : columns) convert.column_types[column] = arrow::utf8();
  return convert;
}

template <class Floats>
std::vector<std::int64_t> infinite_rows(const arrow::Array& array) {
  const auto& floats = static_cast<const Floats&>(array);
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < floats.length(); ++row) {
    if (std::isinf(floats.Value(row)) && floats.IsValid(row)) rows.push_back(row);
  }
  return rows;
}

std::vector<std::int64_t> infinite_rows(const arrow::Array& array) {
  if (array.type_id() == arrow::Type::FLOAT) return infinite_rows<arrow::FloatArray>(array);
  if (array.type_id() == arrow::Type::DOUBLE) return infinite_rows<arrow::DoubleArray>(array);
  return {};
}

/// Whether a field that Arrow reads as infinite says so, and is not a number beyond its type.
bool says_infinity(std::string_view field) {
  std::string letters;
  for (const char c : field) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return letters == "inf" || letters == "infinity";
}

class Blocks final : public TableParts {
 public:
  Blocks(Path path, const ReadOptions& options) : path_(std::move(path)), options_(options) {}

  std::unique_ptr<TablePart> next() override {
    if (is_at_end_) return {};
    try {
      const std::string what = "after row " + std::to_string(first_row_) + ": " + kNotCsv;
      // The first block is read when the reader is made.
      if (!reader_) reader_ = open(*path_, numbers_of(options_));
      std::shared_ptr<arrow::RecordBatch> batch;
      require(reader_->ReadNext(&batch), *path_, what);
      is_at_end_ = batch == nullptr;
      if (is_at_end_) return {};
      ++blocks_;
      require_in_range(*batch);
      auto part =
          std::make_unique<ReadyPart>(chunk_of(path_, first_row_, batch), options_.rows_per_chunk);
      first_row_ += static_cast<std::uint64_t>(batch->num_rows());
      return part;
    } catch (const InputError& error) {
      is_at_end_ = true;
      return std::make_unique<LostPart>(first_row_, error.what());
    }
  }

 private:
  /// Arrow reads 1e39 as an infinite float32 without an error; only the text differs from that of "inf".
  void require_in_range(const arrow::RecordBatch& batch) {
    for (int column = 0; column < batch.num_columns(); ++column) {
      const std::vector<std::int64_t> rows = infinite_rows(*batch.column(column));
      if (rows.empty()) continue;
      const auto texts =
          texts_of_block(batch.num_rows())->GetColumnByName(batch.column_name(column));
      for (const std::int64_t row : rows) {
        const auto field = static_cast<const arrow::StringArray&>(*texts).GetView(row);
        if (says_infinity(field)) continue;
        throw InputError(
            *path_ + ": row " + std::to_string(first_row_ + static_cast<std::uint64_t>(row)) +
            ": column " + batch.column_name(column) + ": got " + shortened(std::string(field)) +
            ", which is beyond the numbers of " + batch.column(column)->type()->ToString());
      }
    }
  }

  /// The fields of floating point of the block that was read last, from a second reading of the file: its blocks are the same.
  const std::shared_ptr<arrow::RecordBatch>& texts_of_block(std::int64_t rows) {
    if (!texts_) {
      std::set<std::string> columns;  // one may be read twice
      for (const auto& field : reader_->schema()->fields()) {
        if (arrow::is_floating(field->type()->id())) columns.insert(field->name());
      }
      texts_ = open(*path_, texts_of({columns.begin(), columns.end()}));
    }
    for (; text_blocks_ < blocks_; ++text_blocks_) {
      require(texts_->ReadNext(&text_block_), *path_, kNotCsv);
      if (text_block_ == nullptr) break;
    }
    if (text_block_ == nullptr || text_block_->num_rows() != rows) {
      throw InputError(*path_ + ": has changed while it was read");
    }
    return text_block_;
  }

  Path path_;
  ReadOptions options_;
  Reader reader_;
  Reader texts_;  ///< empty until a number is infinite
  std::shared_ptr<arrow::RecordBatch> text_block_;
  std::size_t blocks_ = 0, text_blocks_ = 0;  ///< that reader_ and texts_ have read
  std::uint64_t first_row_ = 0;
  bool is_at_end_ = false;
};

class CsvFormat final : public ArrowFormat {
 public:
  using ArrowFormat::ArrowFormat;

  std::unique_ptr<TableParts> read(const ReadOptions& options) const override {
    find_columns(options.columns, *schema, *name);
    return std::make_unique<Blocks>(name, options);
  }
};

}  // namespace

std::unique_ptr<TableFile::Format> open_csv(Path path) {
  return std::make_unique<CsvFormat>(
      path, open(*path, arrow::csv::ConvertOptions::Defaults())->schema(), std::nullopt);
}

}  // namespace tensoa::columnar
