// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <arrow/csv/api.h>
#include <arrow/io/compressed.h>
#include <arrow/io/file.h>
#include <arrow/util/compression.h>

#include <string_view>

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

Reader open(const std::string& path, const ReadOptions* options) {
  auto read = arrow::csv::ReadOptions::Defaults();
  read.use_threads = false;
  auto convert = arrow::csv::ConvertOptions::Defaults();
  // "nan" is a number here.
  convert.null_values = {"", "NULL", "null", "NA", "N/A", "n/a", "#N/A"};
  if (options != nullptr) {
    convert.include_columns = options->columns;
    for (const auto& [column, dtype] : options->text_types) {
      convert.column_types[column] = arrow_type(dtype, true);
    }
  }
  auto parse = arrow::csv::ParseOptions::Defaults();
  parse.delimiter = delimiter_of(path);
  return require(arrow::csv::StreamingReader::Make(arrow::io::default_io_context(), open_text(path),
                                                   read, parse, convert),
                 path, kNotCsv);
}

class Blocks final : public TableParts {
 public:
  Blocks(Path path, const ReadOptions& options) : path_(std::move(path)), options_(options) {}

  std::unique_ptr<TablePart> next() override {
    if (is_at_end_) return {};
    try {
      const std::string what = "after row " + std::to_string(first_row_) + ": " + kNotCsv;
      // The first block is read when the reader is made.
      if (!reader_) reader_ = open(*path_, &options_);
      std::shared_ptr<arrow::RecordBatch> batch;
      require(reader_->ReadNext(&batch), *path_, what);
      is_at_end_ = batch == nullptr;
      if (is_at_end_) return {};
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
  Path path_;
  ReadOptions options_;
  Reader reader_;
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
  return std::make_unique<CsvFormat>(path, open(*path, nullptr)->schema(), std::nullopt);
}

}  // namespace tensoa::columnar
