// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/columnar/table_file.hpp"

#include <algorithm>
#include <system_error>

#include "arrow_library.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::columnar {
namespace {

namespace fs = std::filesystem;

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
  return arrow_library().open(name, ending);
}

}  // namespace

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
  return format_->empty_chunk(options);
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
