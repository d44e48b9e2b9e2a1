// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <arrow/csv/api.h>
#include <arrow/io/api.h>
#include <arrow/util/compression.h>

#include <algorithm>
#include <string_view>
#include <system_error>

#include "arrow/arrow_rows.hpp"

namespace tensoa::columnar {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void reject(const fs::path& path, const std::string& what) {
  throw InputError(path.string() + ": " + what);
}

std::string read_all(arrow::io::InputStream& stream, const std::string& path,
                     const std::string& what, const TextLimit& limit) {
  constexpr std::int64_t kPart = 1 << 20;
  std::string text;
  while (true) {
    const auto part = require(stream.Read(kPart), path, what);
    if (part->size() == 0) return text;
    if (text.size() + static_cast<std::size_t>(part->size()) > limit.bytes) {
      reject(path, "has more than " + std::to_string(limit.bytes >> 20U) +
                       " MiB of text, unpacked; expected " + limit.expected);
    }
    text += static_cast<std::string_view>(*part);
  }
}

std::string_view first_line(std::string_view text) {
  return text.substr(0, text.find_first_of("\r\n"));
}

std::vector<std::string> split(std::string_view line) {
  std::vector<std::string> names;
  while (true) {
    const auto comma = line.find(',');
    std::string_view name = line.substr(0, comma);
    if (name.size() > 1 && name.front() == '"' && name.back() == '"') {
      name = name.substr(1, name.size() - 2);
    }
    names.emplace_back(name);
    if (comma == std::string_view::npos) return names;
    line.remove_prefix(comma + 1);
  }
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return shortened(text);
}

}  // namespace

std::string read_whole_text(const fs::path& path, const TextLimit& limit) {
  const std::string name = path.string();
  std::error_code error;
  if (fs::is_directory(path, error)) reject(path, "got a folder, expected a CSV file");
  const std::shared_ptr<arrow::io::InputStream> file =
      require(arrow::io::ReadableFile::Open(name), name, "cannot be opened");
  std::string text = read_all(*file, name, "cannot be read", limit);
  if (text.empty()) reject(path, "empty file, expected CSV");

  const bool is_gzip = text.starts_with("\x1f\x8b");
  if (name.ends_with(".gz") && !is_gzip) reject(path, "is named .gz, but is not gzip");
  if (is_gzip) {
    const std::string what = "is damaged or truncated gzip";
    const std::shared_ptr<arrow::util::Codec> codec =
        require(arrow::util::Codec::Create(arrow::Compression::GZIP), name, "cannot be unpacked");
    const auto packed =
        std::make_shared<arrow::io::BufferReader>(std::make_shared<arrow::Buffer>(text));
    const auto unpacked =
        require(arrow::io::CompressedInputStream::Make(codec.get(), packed), name, what);
    text = read_all(*unpacked, name, what, limit);
    if (text.empty()) reject(path, "empty file inside the gzip, expected CSV");
  }
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  if (text.find('\0') != std::string::npos) reject(path, "got binary data, expected CSV");
  return text;
}

TableChunk parse_whole_text(const fs::path& path, std::string_view text,
                            const std::vector<TextColumn>& columns, bool has_names) {
  const auto name = std::make_shared<const std::string>(path.string());
  auto read = arrow::csv::ReadOptions::Defaults();
  read.use_threads = false;
  auto convert = arrow::csv::ConvertOptions::Defaults();
  convert.null_values.clear();  // an empty field is an error, not a missing number
  std::vector<std::string> names;
  arrow::FieldVector fields;
  for (const TextColumn& column : columns) {
    names.push_back(column.name);
    fields.push_back(arrow::field(column.name, arrow_type(column.dtype, true)));
    convert.column_types[column.name] = fields.back()->type();
  }
  if (has_names) {
    const std::vector<std::string> got = split(first_line(text));
    for (const std::string& wanted : names) {
      if (std::ranges::count(got, wanted) != 1) {
        reject(path,
               "wrong columns: got " + joined(got) + "; expected " + joined(names) + ", each once");
      }
    }
    if (first_line(text).size() == text.size()) {
      // Arrow takes names without a line end for nothing at all.
      return chunk_of(name, 0,
                      require(arrow::RecordBatch::MakeEmpty(arrow::schema(std::move(fields))),
                              *name, "cannot be read"));
    }
    convert.include_columns = names;
  } else {
    read.column_names = names;
  }
  const std::string what =
      has_names ? "is not CSV with numbers"
                : "is not CSV with " + std::to_string(names.size()) + " columns of numbers";
  const auto bytes =
      std::make_shared<arrow::io::BufferReader>(std::make_shared<arrow::Buffer>(text));
  const auto reader =
      require(arrow::csv::TableReader::Make(arrow::io::default_io_context(), bytes, read,
                                            arrow::csv::ParseOptions::Defaults(), convert),
              *name, what);
  const auto table = require(reader->Read(), *name, what);
  return chunk_of(name, 0, require(table->CombineChunksToBatch(), *name, "cannot be read"));
}

}  // namespace tensoa::columnar
