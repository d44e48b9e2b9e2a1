// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/writer.hpp"

#include <arrow/api.h>
#include <arrow/csv/api.h>
#include <arrow/io/api.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/compression.h>
#include <parquet/arrow/writer.h>

#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "tensoa/core/error.hpp"
#include "tensoa/core/output_file.hpp"

namespace tensoa::track {
namespace {

namespace fs = std::filesystem;

void check(const OutputFile& file, const arrow::Status& status) {
  if (status.ok()) return;
  const std::string detail = status.detail() ? ": " + status.detail()->ToString() : "";
  throw OutputError("cannot write " + file.path().string() + ": " + status.message() + detail);
}

template <class T>
T check(const OutputFile& file, arrow::Result<T> result) {
  check(file, result.status());
  return std::move(result).ValueUnsafe();
}

using Stream = std::shared_ptr<arrow::io::FileOutputStream>;

Stream open(const OutputFile& file) {
  return check(file, arrow::io::FileOutputStream::Open(file.temporary().string()));
}

std::unique_ptr<parquet::arrow::FileWriter> parquet_writer(const OutputFile& file,
                                                           const Stream& stream,
                                                           const arrow::Schema& schema) {
  parquet::WriterProperties::Builder properties;
  if (arrow::util::Codec::IsAvailable(arrow::Compression::ZSTD))
    properties.compression(arrow::Compression::ZSTD);
  return check(file, parquet::arrow::FileWriter::Open(schema, arrow::default_memory_pool(), stream,
                                                      properties.build()));
}

// A column as an Arrow array over the same memory.
template <class T>
std::shared_ptr<arrow::Array> wrap(const T* data, std::size_t n) {
  using Type = typename arrow::CTypeTraits<T>::ArrowType;
  const auto rows = static_cast<std::int64_t>(n);
  return std::make_shared<arrow::NumericArray<Type>>(rows, arrow::Buffer::Wrap(data, n));
}

// Columns in the order in which a file has them.
struct Columns {
  std::size_t rows;
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;

  template <class T>
  void add(const char* name, const T* data) {
    arrays.push_back(wrap(data, rows));
    fields.push_back(arrow::field(name, arrays.back()->type(), false));
  }

  std::shared_ptr<arrow::RecordBatch> batch() const {
    return arrow::RecordBatch::Make(arrow::schema(fields), static_cast<std::int64_t>(rows), arrays);
  }
};

void write_parquet(const fs::path& path, const std::shared_ptr<arrow::RecordBatch>& batch) {
  OutputFile file(path);
  const Stream stream = open(file);
  const auto writer = parquet_writer(file, stream, *batch->schema());
  check(file, writer->WriteRecordBatch(*batch));
  check(file, writer->Close());
  check(file, stream->Close());
  file.commit();
}

}  // namespace

class TrackWriter::Output {
 public:
  explicit Output(const fs::path& path) : file_(path), stream_(open(file_)) {
    if (path.extension() == ".parquet") {
      parquet_ = parquet_writer(file_, stream_, *schema_);
    } else {
      auto options = arrow::csv::WriteOptions::Defaults();
      options.quoting_style = arrow::csv::QuotingStyle::Needed;
      csv_ = check(file_, arrow::csv::MakeCSVWriter(stream_, schema_, options));
    }
  }

  void append(std::string_view event, ConstView<Hit> hits) {
    if (hits.size() == 0) return;
    arrow::StringBuilder names;
    check(file_, names.Reserve(static_cast<std::int64_t>(hits.size())));
    for (std::size_t i = 0; i < hits.size(); ++i) check(file_, names.Append(event));
    const auto batch = arrow::RecordBatch::Make(
        schema_, static_cast<std::int64_t>(hits.size()),
        {check(file_, names.Finish()), wrap(hits.hit_id.data(), hits.size()),
         wrap(hits.x.data(), hits.size()), wrap(hits.y.data(), hits.size()),
         wrap(hits.z.data(), hits.size()), wrap(hits.track_id.data(), hits.size())});
    check(file_, parquet_ ? parquet_->WriteRecordBatch(*batch) : csv_->WriteRecordBatch(*batch));
  }

  void finish() {
    check(file_, parquet_ ? parquet_->Close() : csv_->Close());
    check(file_, stream_->Close());
    file_.commit();
  }

 private:
  OutputFile file_;
  Stream stream_;
  std::shared_ptr<arrow::Schema> schema_ = arrow::schema(
      {arrow::field("event", arrow::utf8(), false), arrow::field("hit_id", arrow::int64(), false),
       arrow::field("x", arrow::float32(), false), arrow::field("y", arrow::float32(), false),
       arrow::field("z", arrow::float32(), false),
       arrow::field("track_id", arrow::int64(), false)});
  std::shared_ptr<arrow::ipc::RecordBatchWriter> csv_;
  std::unique_ptr<parquet::arrow::FileWriter> parquet_;
};

TrackWriter::TrackWriter(const fs::path& path) {
  if (path.extension() != ".csv" && path.extension() != ".parquet") {
    throw ConfigError(path.string() + ": got the ending \"" + path.extension().string() +
                      "\", expected a file named .csv or .parquet");
  }
  output_ = std::make_unique<Output>(path);
}

TrackWriter::~TrackWriter() = default;
TrackWriter::TrackWriter(TrackWriter&&) noexcept = default;
TrackWriter& TrackWriter::operator=(TrackWriter&&) noexcept = default;

void TrackWriter::append(std::string_view event, ConstView<Hit> hits) {
  output_->append(event, hits);
}

void TrackWriter::finish() { output_->finish(); }

void write_graph(const fs::path& folder, std::string_view name, ConstView<Hit> hits,
                 ConstView<Edge> edges) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw OutputError("cannot make the folder " + folder.string() + ": " + error.message());

  Columns nodes{hits.size(), {}, {}};
  nodes.add("x", hits.x.data());
  nodes.add("y", hits.y.data());
  nodes.add("z", hits.z.data());
  nodes.add("layer", hits.layer.data());
  nodes.add("hit_id", hits.hit_id.data());
  nodes.add("particle_id", hits.particle_id.data());
  nodes.add("r_scaled", hits.r_scaled.data());
  nodes.add("phi_scaled", hits.phi_scaled.data());
  nodes.add("z_scaled", hits.z_scaled.data());

  Columns pairs{edges.size(), {}, {}};
  pairs.add("source", edges.source.data());
  pairs.add("target", edges.target.data());
  pairs.add("dr", edges.dr.data());
  pairs.add("dphi", edges.dphi.data());
  pairs.add("dz", edges.dz.data());
  pairs.add("dR", edges.dR.data());
  pairs.add("truth", edges.truth.data());

  write_parquet(folder / (std::string(name) + "-hits.parquet"), nodes.batch());
  write_parquet(folder / (std::string(name) + "-edges.parquet"), pairs.batch());
}

}  // namespace tensoa::track
