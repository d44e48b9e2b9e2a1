// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "tensoa/track/metrics.hpp"
#include "tensoa/track/pipeline.hpp"
#include "tensoa/track/score_histogram.hpp"

namespace tensoa::tools {

/// What a run of `tensoa track` adds up over its events.
struct TrackSummary {
  std::string device;
  std::string model;
  float min_score = 0;
  int threads = 1;
  int in_flight = 1;  ///< events begun and not finished, at most

  std::size_t events = 0;  ///< finished ones
  std::size_t failed = 0;
  std::size_t hits = 0;
  std::size_t edges = 0;
  std::size_t tracks = 0;
  track::StageSeconds seconds;  ///< summed over threads
  double wall_seconds = 0;
  track::ScoreReport moved;

  std::size_t events_with_truth = 0;
  track::EdgeCounts edge_counts;
  track::EdgeAuc edge_auc;     ///< of edges on the host
  std::size_t host_edges = 0;  ///< of `edges`; others stayed on the device
  track::TrackCounts track_counts;
  track::ScoreHistogram scores;

  /// Adds one event. @param edges its edges, with scores; none where they stayed on a device
  void add(const track::ProcessedEvent& done, ConstView<track::Edge> edges);
};

/// The object of `--json`; what needs truth is null where there is none.
nlohmann::json to_json(const TrackSummary& summary);

/// The table at the end of a run, for people.
std::string to_table(const TrackSummary& summary);

}  // namespace tensoa::tools
