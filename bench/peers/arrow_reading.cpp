// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <parquet/arrow/reader.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tensoa/core/error.hpp"

// libtensoa_bench_arrow.so: how Arrow itself reads the columns of an event.

namespace tensoa::bench {
namespace {

template <class T>
T value_of(arrow::Result<T> result, const std::string& path) {
  if (!result.ok()) throw InputError(path + ": " + result.status().ToString());
  return std::move(result).ValueUnsafe();
}

void require(const arrow::Status& status, const std::string& path) {
  if (!status.ok()) throw InputError(path + ": " + status.ToString());
}

/// The columns that an event is read from.
std::vector<int> columns_of(const arrow::Schema& schema) {
  std::vector<int> columns;
  for (const char* name : {"x", "y", "z", "hit_id", "layer", "volume_id", "layer_id", "particle_id",
                           "event_id", "event"}) {
    if (const int place = schema.GetFieldIndex(name); place >= 0) columns.push_back(place);
  }
  std::ranges::sort(columns);
  return columns;
}

std::size_t bytes_of(const arrow::RecordBatch& batch) {
  std::size_t bytes = 0;
  for (const auto& column : batch.columns()) {
    for (const auto* data = column->data().get(); data != nullptr;) {
      for (const auto& buffer : data->buffers) {
        bytes += buffer ? static_cast<std::size_t>(buffer->size()) : 0;
      }
      data = data->child_data.empty() ? nullptr : data->child_data.front().get();
    }
  }
  return bytes;
}

/// Reads a file with Arrow, part by part. @return bytes of its columns
std::size_t read_parquet(const std::string& path) {
  const auto file = value_of(arrow::io::ReadableFile::Open(path), path);
  const auto reader = value_of(parquet::arrow::OpenFile(file, arrow::default_memory_pool()), path);
  std::shared_ptr<arrow::Schema> schema;
  require(reader->GetSchema(&schema), path);
  const auto& names = *reader->parquet_reader()->metadata()->schema();
  std::vector<int> leaves;
  for (const int column : columns_of(*schema)) {
    for (int leaf = 0; leaf < names.num_columns(); ++leaf) {
      const std::string top = names.Column(leaf)->path()->ToDotVector().front();
      if (top == schema->field(column)->name()) leaves.push_back(leaf);
    }
  }
  std::size_t bytes = 0;
  for (int group = 0; group < reader->num_row_groups(); ++group) {
    const auto batches = value_of(reader->GetRecordBatchReader({group}, leaves), path);
    for (std::shared_ptr<arrow::RecordBatch> batch;;) {
      require(batches->ReadNext(&batch), path);
      if (!batch) break;
      bytes += bytes_of(*batch);
    }
  }
  return bytes;
}

std::size_t read_arrow(const std::string& path) {
  const auto file = value_of(arrow::io::ReadableFile::Open(path), path);
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.use_threads = false;
  const auto whole = value_of(arrow::ipc::RecordBatchFileReader::Open(file, options), path);
  options.included_fields = columns_of(*whole->schema());
  const auto reader = value_of(arrow::ipc::RecordBatchFileReader::Open(file, options), path);
  std::size_t bytes = 0;
  for (int number = 0; number < reader->num_record_batches(); ++number) {
    bytes += bytes_of(*value_of(reader->ReadRecordBatch(number), path));
  }
  return bytes;
}

}  // namespace

}  // namespace tensoa::bench

/// @return bytes of the columns that were read
extern "C" __attribute__((visibility("default"))) std::size_t tensoa_bench_read_with_arrow(
    const std::string& path) {
  return path.ends_with(".parquet") ? tensoa::bench::read_parquet(path)
                                    : tensoa::bench::read_arrow(path);
}
