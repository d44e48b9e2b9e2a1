// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/writer.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "tensoa/columnar/table_writer.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::track {
namespace {

namespace fs = std::filesystem;
using columnar::Cells;

// Columns in the order in which a file has them.
struct Columns {
  std::size_t rows;
  std::vector<columnar::WrittenColumn> columns = {};
  std::vector<columnar::WrittenNumbers> numbers = {};

  template <class T>
  void add(const char* name, const T* data) {
    columns.push_back({.name = name, .dtype = kDTypeOf<T>});
    numbers.push_back({.data = reinterpret_cast<const std::byte*>(data)});
  }
};

void write_parquet(const fs::path& path, const Columns& table) {
  columnar::TableWriter writer(path, table.columns);
  writer.append(table.rows, table.numbers);
  writer.finish();
}

Columns track_columns(ConstView<Hit> hits) {
  Columns table{hits.size()};
  table.add("hit_id", hits.hit_id.data());
  table.add("x", hits.x.data());
  table.add("y", hits.y.data());
  table.add("z", hits.z.data());
  table.add("track_id", hits.track_id.data());
  return table;
}

}  // namespace

class TrackWriter::Output {
 public:
  explicit Output(const fs::path& path) : writer_(path, columns()) {}

  void append(std::string_view event, ConstView<Hit> hits) {
    if (hits.size() == 0) return;
    Columns table = track_columns(hits);
    std::string names;
    names.reserve(event.size() * hits.size());
    std::vector<std::int64_t> offsets{0};
    for (std::size_t i = 0; i < hits.size(); ++i) {
      names += event;
      offsets.push_back(static_cast<std::int64_t>(names.size()));
    }
    table.numbers.insert(table.numbers.begin(),
                         {reinterpret_cast<const std::byte*>(names.data()), std::move(offsets)});
    writer_.append(table.rows, table.numbers);
  }

  void finish() { writer_.finish(); }

 private:
  static std::vector<columnar::WrittenColumn> columns() {
    std::vector<columnar::WrittenColumn> all = track_columns({}).columns;
    all.insert(all.begin(), {.name = "event", .cells = Cells::kTexts});
    return all;
  }

  columnar::TableWriter writer_;
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

  Columns nodes{hits.size()};
  nodes.add("x", hits.x.data());
  nodes.add("y", hits.y.data());
  nodes.add("z", hits.z.data());
  nodes.add("layer", hits.layer.data());
  nodes.add("hit_id", hits.hit_id.data());
  nodes.add("particle_id", hits.particle_id.data());
  nodes.add("r_scaled", hits.r_scaled.data());
  nodes.add("phi_scaled", hits.phi_scaled.data());
  nodes.add("z_scaled", hits.z_scaled.data());

  Columns pairs{edges.size()};
  pairs.add("source", edges.source.data());
  pairs.add("target", edges.target.data());
  pairs.add("dr", edges.dr.data());
  pairs.add("dphi", edges.dphi.data());
  pairs.add("dz", edges.dz.data());
  pairs.add("dR", edges.dR.data());
  pairs.add("truth", edges.truth.data());

  write_parquet(folder / (std::string(name) + "-hits.parquet"), nodes);
  write_parquet(folder / (std::string(name) + "-edges.parquet"), pairs);
}

}  // namespace tensoa::track
