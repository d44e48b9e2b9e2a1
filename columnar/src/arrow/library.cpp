// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "arrow/arrow_rows.hpp"

#include <algorithm>

#include "tensoa/core/printable.hpp"
#include "tensoa/core/version.hpp"

// libtensoa_arrow.so.

namespace tensoa::columnar {
namespace {

std::unique_ptr<TableFile::Format> open(Path path, InputFormat format) {
  if (format == InputFormat::kParquet) return open_parquet(std::move(path));
  return format == InputFormat::kArrow ? open_arrow(std::move(path)) : open_csv(std::move(path));
}

}  // namespace

std::shared_ptr<arrow::DataType> arrow_type(DType dtype, bool is_text) {
  switch (dtype) {
    case DType::kBool:
      return arrow::boolean();
    case DType::kU8:
      return arrow::uint8();
    case DType::kI8:
      return arrow::int8();
    case DType::kI16:
      return arrow::int16();
    case DType::kI32:
      return arrow::int32();
    case DType::kI64:
      return arrow::int64();
    case DType::kF16:
      return is_text ? arrow::float32() : arrow::float16();
    case DType::kBF16:
    case DType::kF32:
      return arrow::float32();
    case DType::kF64:
      return arrow::float64();
  }
  return nullptr;
}

std::string shortened(const std::string& text) {
  constexpr std::size_t kLongest = 160;
  if (text.size() <= kLongest) return printable(text);
  std::size_t length = kLongest;
  while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80) --length;
  return printable(text.substr(0, length)) + "...";
}

void require(const arrow::Status& status, const std::string& path, const std::string& what) {
  if (status.IsOutOfMemory()) throw std::bad_alloc();
  if (!status.ok()) throw InputError(path + ": " + what + ": " + shortened(status.message()));
}

TableChunk chunk_of(Path path, std::uint64_t first_row, std::shared_ptr<arrow::RecordBatch> batch) {
  return TableChunk(
      std::make_shared<const ArrowRows>(std::move(path), first_row, std::move(batch)));
}

std::optional<TableChunk> ReadyPart::next() {
  if (done_ == rows_.rows()) return {};
  const std::size_t first = done_;
  done_ = std::min(done_ + rows_per_chunk_, rows_.rows());
  return rows_.slice(first, done_ - first);
}

TableChunk ArrowFormat::empty_chunk(const ReadOptions& options) const {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const NestedColumn& column : find_columns(options.columns, *schema, *name)) {
    fields.push_back(arrow::field(column.name, column.type));
    arrays.push_back(
        require(arrow::MakeEmptyArray(column.type), *name, "has a column that cannot be read"));
  }
  return chunk_of(name, 0,
                  arrow::RecordBatch::Make(arrow::schema(std::move(fields)), 0, std::move(arrays)));
}

}  // namespace tensoa::columnar

extern "C" __attribute__((visibility("default")))
const tensoa::columnar::ArrowLibrary tensoa_arrow_library{
    .version = tensoa::kVersion.data(),
    .open = tensoa::columnar::open,
    .write = tensoa::columnar::write_table,
    .read_text = tensoa::columnar::read_whole_text,
    .parse_text = tensoa::columnar::parse_whole_text,
};
