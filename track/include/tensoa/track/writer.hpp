// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "tensoa/track/event.hpp"

/// @file
/// Files of answers and of training data. A file appears complete or not at all: it is written
/// next to its place under another name and then renamed.

namespace tensoa::track {

/// Writes the hits of any number of events with their tracks: event (text), hit_id, x, y, z (mm),
/// track_id.
///
/// The ending of the file selects the format: .csv or .parquet. Rows of one event stay together,
/// events come in the order of append(). *Threads*: one at a time.
class TrackWriter {
 public:
  /// @throws ConfigError for another ending; OutputError when the file cannot be written.
  explicit TrackWriter(const std::filesystem::path& path);

  /// Without finish() before, nothing is left of the file.
  ~TrackWriter();
  TrackWriter(TrackWriter&&) noexcept;
  TrackWriter& operator=(TrackWriter&&) noexcept;

  /// Adds the hits of one event. Their columns are read in place. @throws OutputError
  void append(std::string_view event, ConstView<Hit> hits);

  /// Completes the file; call it once, last. @throws OutputError
  void finish();

 private:
  class Output;
  std::unique_ptr<Output> output_;
};

/// Writes the graph of one event for training: FOLDER/NAME-hits.parquet and
/// FOLDER/NAME-edges.parquet, with the columns of Hit and Edge but the answers (track_id, score).
/// The folder is made when it is not there.
/// @param hits with node features, as GraphBuilder leaves them
/// @throws OutputError when a file cannot be written.
/// *Threads*: any, for different names.
void write_graph(const std::filesystem::path& folder, std::string_view name, ConstView<Hit> hits,
                 ConstView<Edge> edges);

}  // namespace tensoa::track
