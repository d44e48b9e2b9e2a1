// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "tensoa/track/event.hpp"
#include "tensoa/track/tracks.hpp"

namespace tensoa::track {

/// The reference of TrackFinder: its words as a loop over sorted edges, with sets of hits.
inline std::vector<std::int64_t> tracks_one_by_one(ConstView<Hit> hits, ConstView<Edge> edges,
                                                   const TrackOptions& options) {
  std::vector<std::size_t> order(edges.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return edges.score[a] > edges.score[b]; });
  std::vector<std::vector<std::size_t>> groups(hits.size());
  std::vector<std::size_t> group_of(hits.size());
  for (std::size_t i = 0; i < hits.size(); ++i) {
    groups[i] = {i};
    group_of[i] = i;
  }
  const auto contradict = [&](std::size_t i, std::size_t j) {
    const double distance =
        std::hypot(hits.x[i] - hits.x[j], hits.y[i] - hits.y[j], hits.z[i] - hits.z[j]);
    return hits.layer[i] != 0 && hits.layer[i] == hits.layer[j] &&
           distance > static_cast<double>(options.max_layer_distance);
  };
  for (const std::size_t e : order) {
    if (!(edges.score[e] >= options.min_score)) continue;
    const std::size_t a = group_of[static_cast<std::size_t>(edges.source[e])];
    const std::size_t b = group_of[static_cast<std::size_t>(edges.target[e])];
    if (a == b) continue;
    const bool fit = std::ranges::none_of(groups[a], [&](std::size_t i) {
      return std::ranges::any_of(groups[b], [&](std::size_t j) { return contradict(i, j); });
    });
    if (!fit) continue;
    for (const std::size_t hit : groups[b]) group_of[hit] = a;
    groups[a].insert(groups[a].end(), groups[b].begin(), groups[b].end());
    groups[b].clear();
  }
  std::vector<std::int64_t> ids(hits.size(), -1);
  std::vector<std::int64_t> number(hits.size(), -1);
  std::int64_t tracks = 0;
  for (std::size_t i = 0; i < hits.size(); ++i) {
    const std::size_t group = group_of[i];
    if (groups[group].size() < options.min_hits) continue;
    if (number[group] < 0) number[group] = tracks++;
    ids[i] = number[group];
  }
  return ids;
}

}  // namespace tensoa::track
