// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tensoa/events/scores.hpp"
#include "tensoa/merge/event.hpp"
#include "tensoa/merge/metrics.hpp"

namespace tensoa::merge {

/// The events that a report shows; further ones count in the summary and the curves only.
inline constexpr std::size_t kMaxReportEvents = 3;

/// The clusters of an event that a report draws: of a larger event those of most energy, and the page has a note.
inline constexpr std::size_t kMaxReportClusters = 60'000;

/// A run of the program as one HTML page that needs nothing but a browser.
/// @param summary_json the object that `tensoa merge --json` writes, as UTF-8 text
/// @param events the first kMaxReportEvents of them are shown; clusters and merged_id are read
/// @param scores, counts of all events
/// @throws ConfigError if the summary is not a JSON object
/// *Threads*: safe.
std::string report_page(std::string_view summary_json, const std::vector<const Event*>& events,
                        const events::ScoreHistogram& scores, const MergeCounts& counts);

}  // namespace tensoa::merge
