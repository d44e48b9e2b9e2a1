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
  std::vector<std::int64_t> merged(clusters.size(), -1);
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    if (fragment_of[i] >= 0)
      merged[i] = fragments.merged_id[static_cast<std::size_t>(fragment_of[i])];
  }
  using events::pack_rows;
  return {{"name", event.name},
          {"clusters", clusters.size()},
          {"x", pack_rows<float>(clusters.x, rows)},
          {"y", pack_rows<float>(clusters.y, rows)},
          {"z", pack_rows<float>(clusters.z, rows)},
          {"energy", pack_rows<float>(clusters.energy, rows)},
          {"fragment", pack_rows<std::int32_t>(fragment_of, rows)},
          {"merged", pack_rows<std::int32_t>(merged, rows)},
          {"particle",
           event.has_truth ? json(pack_rows<std::int32_t>(clusters.particle_id, rows)) : json()}};
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
  return events::filled_page(detail::kReportTemplate, {{"summary", std::move(summary)},
                                                       {"scores", events::to_json(scores)},
                                                       {"events", std::move(shown)}});
}

}  // namespace tensoa::merge
