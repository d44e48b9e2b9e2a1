// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/merge/report.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "merge_template.hpp"
#include "report_page.hpp"

namespace tensoa::merge {
namespace {

using nlohmann::json;

template <class T, class Value>
std::string pack_rows(const std::vector<std::size_t>& rows, const Value& value) {
  std::vector<T> picked;
  for (const std::size_t row : rows) picked.push_back(static_cast<T>(value(row)));
  return events::pack(std::span<const T>(picked));
}

json to_json(const Event& event) {
  const ConstView<Cluster> clusters = event.clusters.const_view();
  const ConstView<Fragment> fragments = event.fragments.const_view();
  std::vector<std::int64_t> fragment_of(clusters.size(), -1);
  for (std::size_t f = 0; f < fragments.size(); ++f) {
    std::fill(fragment_of.begin() + fragments.first[f], fragment_of.begin() + fragments.last[f],
              static_cast<std::int64_t>(f));
  }
  std::vector<std::size_t> rows(clusters.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  const auto drawn =
      rows.begin() + static_cast<std::ptrdiff_t>(std::min(rows.size(), kMaxReportClusters));
  std::ranges::nth_element(
      rows, drawn == rows.end() ? rows.begin() : drawn,
      [&](std::size_t a, std::size_t b) { return clusters.energy[a] > clusters.energy[b]; });
  rows.erase(drawn, rows.end());
  const auto merged = [&](std::size_t row) {
    const std::int64_t f = fragment_of[row];
    return f < 0 ? -1 : fragments.merged_id[static_cast<std::size_t>(f)];
  };
  const auto column = [&](const auto& values) {
    return pack_rows<float>(rows, [&](std::size_t row) { return values[row]; });
  };
  const auto particle = [&](std::size_t row) { return clusters.particle_id[row]; };
  return {{"name", event.name},
          {"clusters", clusters.size()},
          {"x", column(clusters.x)},
          {"y", column(clusters.y)},
          {"z", column(clusters.z)},
          {"energy", column(clusters.energy)},
          {"fragment",
           pack_rows<std::int32_t>(rows, [&](std::size_t row) { return fragment_of[row]; })},
          {"merged", pack_rows<std::int32_t>(rows, merged)},
          {"particle", event.has_truth ? json(pack_rows<std::int32_t>(rows, particle)) : json()}};
}

json to_json(const events::ScoreHistogram& scores) {
  json efficiency = json::array();
  json false_rate = json::array();
  for (const events::CutPoint& point : scores.cut_points()) {
    efficiency.push_back(point.efficiency);
    false_rate.push_back(point.false_rate);
  }
  return {{"true", scores.true_counts()},
          {"false", scores.false_counts()},
          {"all", scores.unlabelled_counts()},
          {"efficiency", efficiency},
          {"falseRate", false_rate}};
}

}  // namespace

std::string report_page(std::string_view summary_json, const std::vector<const Event*>& events,
                        const events::ScoreHistogram& scores, const MergeCounts& counts) {
  json shown = json::array();
  for (std::size_t i = 0; i < std::min(events.size(), kMaxReportEvents); ++i) {
    shown.push_back(to_json(*events[i]));
  }
  json summary = events::parse_summary(summary_json);
  summary["responses"] = counts.responses;
  return events::filled_page(
      detail::kReportTemplate,
      {{"summary", std::move(summary)}, {"scores", to_json(scores)}, {"events", std::move(shown)}});
}

}  // namespace tensoa::merge
