// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "tensoa/track/event.hpp"
#include "tensoa/track/metrics.hpp"

namespace tensoa::track {

/// The events that a report shows; further ones count in the summary and the curves only.
inline constexpr std::size_t kMaxReportEvents = 3;

/// The edges of an event that a report can draw. Of a larger event it keeps the true ones first,
/// then those of highest score, and the page has a note.
inline constexpr std::size_t kMaxReportEdges = 150'000;

/// One event as the report draws it. Nothing is copied before report_page(): what the views and the
/// name refer to must outlive that call.
struct ReportEvent {
  std::string_view name;  ///< any bytes; shown as text
  ConstView<Hit> hits;    ///< x, y, z, track_id and, with truth, particle_id are read
  ConstView<Edge> edges;  ///< source, target, score and, with truth, truth are read
  bool has_truth = false;
};

/// A run of the program as one HTML page that needs nothing but a browser.
///
/// @param summary_json the object that `tensoa track --json` writes, as UTF-8 text
/// @param events the first kMaxReportEvents of them are shown
/// @param scores the edge scores of all events
/// @throws ConfigError if the summary is not a JSON object, or an edge refers to no hit of its event
/// *Threads*: safe.
std::string report_page(std::string_view summary_json, std::span<const ReportEvent> events,
                        const ScoreHistogram& scores);

}  // namespace tensoa::track
