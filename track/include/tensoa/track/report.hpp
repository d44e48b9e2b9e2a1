// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensoa/track/score_histogram.hpp"

namespace tensoa::track {

/// The events that a report shows; further ones count in the summary and the curves only.
inline constexpr std::size_t kMaxReportEvents = 3;

/// The edges of an event that a report can draw. Of a larger event it keeps the true ones first,
/// then those of highest score, and says so on the page.
inline constexpr std::size_t kMaxReportEdges = 150'000;

/// One event as the report draws it. Hit columns have one entry a hit, edge columns one an edge.
struct ReportEvent {
  std::string name;                          ///< any bytes; shown as text
  std::vector<float> x, y, z;                ///< mm
  std::vector<std::int32_t> track_id;        ///< -1 = on no track
  std::vector<std::int64_t> particle_id;     ///< 0 = noise; may be empty without truth
  std::vector<std::int32_t> source, target;  ///< rows of the hit columns
  std::vector<float> score;                  ///< [0, 1]
  std::vector<std::uint8_t> truth;           ///< 1 = true edge; may be empty without truth
  bool has_truth = false;
};

/// A run of the program as one HTML page that needs nothing but a browser.
///
/// @param summary_json the object that `tensoa track --json` writes, as UTF-8 text
/// @param events the first kMaxReportEvents of them are shown
/// @param scores the edge scores of all events
/// @throws ConfigError if the summary is no JSON object, or the columns of an event do not fit
///         together
/// *Threads*: safe.
std::string report_page(std::string_view summary_json, std::span<const ReportEvent> events,
                        const ScoreHistogram& scores);

}  // namespace tensoa::track
