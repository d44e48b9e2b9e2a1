// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "run_summary.hpp"
#include "tensoa/track/metrics.hpp"
#include "tensoa/track/pipeline.hpp"
#include "tensoa/track/track_counts.hpp"

namespace tensoa::tools {

/// Figures of events that add up.
struct TrackFigures : EventFigures {
  std::size_t hits = 0;
  std::size_t edges = 0;
  std::size_t tracks = 0;
  std::size_t cuda_graphs = 0;  ///< events that were launched as one

  std::size_t events_with_truth = 0;
  track::EdgeCounts edge_counts;
  track::EdgeAuc edge_auc;
  track::TrackCounts track_counts;
  track::ScoreHistogram scores;

  TrackFigures& operator+=(const TrackFigures& other);
};

/// The figures of one event.
/// @param edges all its edges, with scores, for the histogram and the ceiling of the candidate graph;
/// none where they stayed on a device
TrackFigures figures_of(const track::ProcessedEvent& done, ConstView<track::Edge> edges);

/// A run of `tensoa track`.
struct TrackSummary : TrackFigures, RunSummary {
  std::string graph;  ///< file of the graph rules; empty: those that are built in
  std::size_t edge_capacity = 0;
};

/// The object of `--json`; figures that need truth are null without it.
nlohmann::json to_json(const TrackSummary& summary);

/// The table at the end of a run, for people.
std::string to_table(const TrackSummary& summary);

}  // namespace tensoa::tools
