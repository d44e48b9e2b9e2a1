// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <gtest/gtest.h>
#include <parquet/arrow/writer.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensoa/columnar/table_file.hpp"
#include "tensoa/core/error.hpp"

// Files for the tests, and what is in them.

namespace tensoa::columnar::test {

using Columns = std::vector<std::pair<std::string, std::shared_ptr<arrow::Array>>>;

template <class Builder, class Values>
std::shared_ptr<arrow::Array> array(Values values, const std::vector<bool>& valid = {}) {
  Builder builder;
  const arrow::Status status =
      valid.empty() ? builder.AppendValues(values) : builder.AppendValues(values, valid);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return builder.Finish().ValueOrDie();
}

inline std::shared_ptr<arrow::Array> floats(std::vector<float> values,
                                            const std::vector<bool>& valid = {}) {
  return array<arrow::FloatBuilder>(std::move(values), valid);
}

/// 0, 1, 2, …
inline std::shared_ptr<arrow::Array> counted(std::size_t n) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<float>(i);
  return floats(std::move(values));
}

inline std::shared_ptr<arrow::Table> table(const Columns& columns) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const auto& [name, values] : columns) {
    fields.push_back(arrow::field(name, values->type()));
    arrays.push_back(values);
  }
  return arrow::Table::Make(arrow::schema(fields), arrays);
}

/// A file by its ending: .parquet, .arrow, or .ipc for the stream format.
inline std::filesystem::path write(const std::filesystem::path& path, const Columns& columns,
                                   std::int64_t rows_of_part) {
  const auto all = table(columns);
  const auto stream = arrow::io::FileOutputStream::Open(path.string()).ValueOrDie();
  arrow::Status status;
  if (path.extension() == ".parquet") {
    status = parquet::arrow::WriteTable(*all, arrow::default_memory_pool(), stream, rows_of_part);
  } else {
    const auto writer = path.extension() == ".ipc"
                            ? arrow::ipc::MakeStreamWriter(stream, all->schema()).ValueOrDie()
                            : arrow::ipc::MakeFileWriter(stream, all->schema()).ValueOrDie();
    status = writer->WriteTable(*all, rows_of_part);
    EXPECT_TRUE(writer->Close().ok());
  }
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_TRUE(stream->Close().ok());
  return path;
}

inline std::filesystem::path write_text(const std::filesystem::path& path,
                                        const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

/// The result of reading: numbers of one column, and messages about lost parts.
struct Read {
  std::vector<float> numbers;
  std::vector<std::size_t> chunks;  ///< rows of each
  std::vector<std::string> lost;
};

inline Read read(const TableFile& file, const std::string& column, std::size_t rows_per_chunk = 4) {
  Read all;
  NumberMemory memory;
  const auto parts = file.read({.columns = {column},
                                .rows_per_chunk = rows_per_chunk,
                                .text_types = {{column, DType::kF32}}});
  while (const auto part = parts->next()) {
    try {
      while (const auto chunk = part->next()) {
        const auto* numbers =
            reinterpret_cast<const float*>(chunk->numbers(0, DType::kF32, {}, memory));
        all.numbers.insert(all.numbers.end(), numbers, numbers + chunk->rows());
        all.chunks.push_back(chunk->rows());
      }
    } catch (const InputError& error) {
      all.lost.emplace_back(error.what());
    }
  }
  return all;
}

/// All rows of a file in one chunk of one part.
inline TableChunk only_chunk(const TableFile& file, std::vector<std::string> columns) {
  const auto parts = file.read({.columns = std::move(columns), .rows_per_chunk = 1'000'000});
  const auto part = parts->next();
  return part->next().value();
}

}  // namespace tensoa::columnar::test
