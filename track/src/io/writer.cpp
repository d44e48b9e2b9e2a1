// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/writer.hpp"

#include <string>
#include <system_error>

#include "tensoa/core/error.hpp"
#include "tensoa/events/table_columns.hpp"

namespace tensoa::track {
namespace {

namespace fs = std::filesystem;

events::TableColumns track_columns(ConstView<Hit> hits) {
  events::TableColumns table{hits.size()};
  table.add("hit_id", hits.hit_id.data());
  table.add("x", hits.x.data());
  table.add("y", hits.y.data());
  table.add("z", hits.z.data());
  table.add("track_id", hits.track_id.data());
  return table;
}

}  // namespace

class TrackWriter::Output : public events::AnswerWriter {
  using AnswerWriter::AnswerWriter;
};

TrackWriter::TrackWriter(const fs::path& path)
    : output_(std::make_unique<Output>(path, track_columns({}))) {}

TrackWriter::~TrackWriter() = default;
TrackWriter::TrackWriter(TrackWriter&&) noexcept = default;
TrackWriter& TrackWriter::operator=(TrackWriter&&) noexcept = default;

void TrackWriter::append(std::string_view event, ConstView<Hit> hits) {
  output_->append(event, track_columns(hits));
}

void TrackWriter::finish() { output_->finish(); }

void write_graph(const fs::path& folder, std::string_view name, ConstView<Hit> hits,
                 ConstView<Edge> edges) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw OutputError("cannot make the folder " + folder.string() + ": " + error.message());

  const std::string path = (folder / std::string(name)).string();
  events::TableColumns::of(hits, {"track_id"}).write(path + "-hits.parquet");
  events::TableColumns::of(edges, {"score"}).write(path + "-edges.parquet");
}

}  // namespace tensoa::track
