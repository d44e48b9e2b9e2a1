// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/columnar/table_file.hpp"

#include <algorithm>
#include <system_error>

#include "chunk_rows.hpp"
#include "tensoa/core/printable.hpp"

namespace tensoa::columnar {
namespace {

namespace fs = std::filesystem;

enum class InputFormat { kParquet, kArrow, kCsv, kRoot, kOther };

InputFormat ending_of(const std::string& path) {
  const auto is = [&](const char* ending) { return path.ends_with(ending); };
  if (is(".parquet")) return InputFormat::kParquet;
  if (is(".arrow") || is(".ipc") || is(".feather")) return InputFormat::kArrow;
  if (is(".csv") || is(".csv.gz")) return InputFormat::kCsv;
  return is(".root") ? InputFormat::kRoot : InputFormat::kOther;
}

std::unique_ptr<TableFile::Format> open(fs::path path) {
  const auto name = std::make_shared<const std::string>(path.string());
  const InputFormat ending = ending_of(*name);
  if (ending == InputFormat::kRoot) {
    throw InputError(*name +
                     ": ROOT files are not read here; convert it: python -m tensoa.from_root " +
                     *name + " TREE OUT.parquet");
  }
  if (ending == InputFormat::kOther) {
    throw InputError(*name + ": got the ending \"" + path.extension().string() +
                     "\", expected .parquet, .arrow, .ipc, .feather, .csv or .csv.gz");
  }
  std::error_code error;
  if (!fs::exists(path, error)) throw InputError(*name + ": there is no such file");
  if (fs::is_directory(path, error)) throw InputError(*name + ": got a folder, expected a file");
  if (fs::is_regular_file(path, error) && fs::file_size(path, error) == 0 && !error) {
    throw InputError(*name + ": empty file, expected columns");
  }
  if (ending == InputFormat::kParquet) return open_parquet(name);
  return ending == InputFormat::kArrow ? open_arrow(name) : open_csv(name);
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
  return TableChunk(std::make_shared<const detail::ChunkRows>(
      detail::ChunkRows{std::move(path), first_row, std::move(batch)}));
}

std::optional<TableChunk> ReadyPart::next() {
  if (done_ == rows_.rows()) return {};
  const std::size_t first = done_;
  done_ = std::min(done_ + rows_per_chunk_, rows_.rows());
  return rows_.slice(first, done_ - first);
}

TableFile::TableFile(fs::path path) : format_(open(std::move(path))) {}
TableFile::~TableFile() = default;
TableFile::TableFile(TableFile&&) noexcept = default;
TableFile& TableFile::operator=(TableFile&&) noexcept = default;

const fs::path& TableFile::path() const noexcept { return format_->file_path; }
const std::vector<FileColumn>& TableFile::columns() const noexcept { return format_->columns; }
std::optional<std::uint64_t> TableFile::rows() const noexcept { return format_->rows; }

std::unique_ptr<TableParts> TableFile::read(const ReadOptions& options) const {
  return format_->read(options);
}

TableChunk TableFile::empty_chunk(const ReadOptions& options) const {
  const auto schema = format_->schema();
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const NestedColumn& column : find_columns(options.columns, *schema, *format_->name)) {
    fields.push_back(arrow::field(column.name, column.type));
    arrays.push_back(require(arrow::MakeEmptyArray(column.type), *format_->name,
                             "has a column that cannot be read"));
  }
  return chunk_of(format_->name, 0,
                  arrow::RecordBatch::Make(arrow::schema(std::move(fields)), 0, std::move(arrays)));
}

std::vector<fs::path> find_tables(const std::vector<std::string>& paths) {
  std::vector<fs::path> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::exists(path, error)) throw InputError(path + ": there is no such file or folder");
    if (!fs::is_directory(path, error)) {
      files.emplace_back(path);
      continue;
    }
    std::vector<fs::path> found;
    for (fs::directory_iterator entry(path, error), end; !error && entry != end;
         entry.increment(error)) {
      const InputFormat ending = ending_of(entry->path().string());
      const bool is_hidden = entry->path().filename().string().starts_with('.');
      if (ending < InputFormat::kRoot && !is_hidden) found.push_back(entry->path());
    }
    if (error) throw InputError(path + ": the folder cannot be read: " + error.message());
    if (found.empty()) {
      throw InputError(path + ": the folder has no .parquet, .arrow, .ipc, .feather or .csv files");
    }
    std::ranges::sort(found);
    files.insert(files.end(), found.begin(), found.end());
  }
  if (files.empty()) throw InputError("no files of columns are given; expected one at least");
  return files;
}

}  // namespace tensoa::columnar
