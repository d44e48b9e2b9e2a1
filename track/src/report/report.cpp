// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/report.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "report_page.hpp"
#include "report_template.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::track {
namespace {

using nlohmann::json;

template <class T>
std::string pack(const PlainColumn<const T>& column, std::size_t rows) {
  return events::pack(std::span(column.data(), rows));
}

std::vector<std::size_t> rows_below(std::size_t n) {
  std::vector<std::size_t> rows(n);
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  return rows;
}

void require_rows(const ReportEvent& event) {
  const std::size_t hits = event.hits.size();
  const auto is_row = [&](std::int64_t row) {
    return row >= 0 && static_cast<std::size_t>(row) < hits;
  };
  for (std::size_t edge = 0; edge < event.edges.size(); ++edge) {
    if (is_row(event.edges.source[edge]) && is_row(event.edges.target[edge])) continue;
    throw ConfigError("report_page(): edge " + std::to_string(edge) + " of event " +
                      std::string(event.name) + " joins rows " +
                      std::to_string(event.edges.source[edge]) + " and " +
                      std::to_string(event.edges.target[edge]) + ", expected rows of the " +
                      std::to_string(hits) + " hits");
  }
}

// The rows of the edges that the page draws: all, or the most telling ones of a huge event.
std::vector<std::size_t> drawn_edges(const ReportEvent& event) {
  std::vector<std::size_t> rows = rows_below(event.edges.size());
  if (rows.size() <= kMaxReportEdges) return rows;
  const auto rank = [&](std::size_t row) {
    // NaN goes last, so that the order stays a strict one.
    const float score = event.edges.score[row] >= 0.0F ? event.edges.score[row] : -1.0F;
    return (event.has_truth && event.edges.truth[row] != 0 ? 2.0F : 0.0F) + score;
  };
  const auto end = rows.begin() + static_cast<std::ptrdiff_t>(kMaxReportEdges);
  std::nth_element(rows.begin(), end, rows.end(),
                   [&](std::size_t a, std::size_t b) { return rank(a) > rank(b); });
  rows.erase(end, rows.end());
  return rows;
}

json to_json(const ReportEvent& event) {
  require_rows(event);
  const auto& [name, hits, edges, has_truth] = event;
  const std::size_t n = hits.size();
  const auto rows = drawn_edges(event);
  const bool wide = n > std::numeric_limits<std::uint16_t>::max();
  const auto pack_ends = [&](const PlainColumn<const std::int64_t>& ends) {
    return wide ? events::pack_rows<std::int32_t>(ends, rows)
                : events::pack_rows<std::uint16_t>(ends, rows);
  };
  return {{"name", name},
          {"edges", edges.size()},
          {"x", pack(hits.x, n)},
          {"y", pack(hits.y, n)},
          {"z", pack(hits.z, n)},
          {"track", events::pack_rows<std::int32_t>(hits.track_id, rows_below(n))},
          {"wide", wide},
          {"score", events::pack_rows<float>(edges.score, rows)},
          {"source", pack_ends(edges.source)},
          {"target", pack_ends(edges.target)},
          {"particle", has_truth ? json(pack(hits.particle_id, n)) : json()},
          {"truth", has_truth ? json(events::pack_rows<std::uint8_t>(edges.truth, rows)) : json()}};
}

}  // namespace

std::string report_page(std::string_view summary_json, std::span<const ReportEvent> events,
                        const ScoreHistogram& scores) {
  json shown = json::array();
  for (const auto& event : events.first(std::min(events.size(), kMaxReportEvents))) {
    shown.push_back(to_json(event));
  }
  return events::filled_page(detail::kReportTemplate,
                             {{"summary", events::parse_summary(summary_json)},
                              {"scores", events::to_json(scores)},
                              {"events", std::move(shown)}});
}

}  // namespace tensoa::track
