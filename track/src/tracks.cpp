// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/tracks.hpp"

#include <numeric>
#include <string>
#include <utility>

#include "tensoa/core/error.hpp"

namespace tensoa::track {

std::size_t TrackFinder::find(View<Hit> hits, ConstView<Edge> edges) {
  const std::size_t n_hits = hits.size();
  parent_.resize(n_hits);
  std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  size_.assign(n_hits, 1);
  track_of_.assign(n_hits, -1);

  for (std::size_t e = 0; e < edges.size(); ++e) {
    if (!(edges.score[e] >= options_.min_score)) continue;
    const auto source = static_cast<std::size_t>(edges.source[e]);
    const auto target = static_cast<std::size_t>(edges.target[e]);
    if (source >= n_hits || target >= n_hits) {
      throw InputError("edge " + std::to_string(e) + ": got rows " +
                       std::to_string(edges.source[e]) + " and " + std::to_string(edges.target[e]) +
                       ", expected rows of the " + std::to_string(n_hits) + " hits");
    }
    join(source, target);
  }

  std::int64_t tracks = 0;
  for (std::size_t hit = 0; hit < n_hits; ++hit) {
    const std::size_t root = root_of(hit);
    if (track_of_[root] < 0 && size_[root] >= options_.min_hits) track_of_[root] = tracks++;
    hits.track_id[hit] = track_of_[root];
  }
  return static_cast<std::size_t>(tracks);
}

std::size_t TrackFinder::root_of(std::size_t hit) {
  while (parent_[hit] != hit) {
    parent_[hit] = parent_[parent_[hit]];
    hit = parent_[hit];
  }
  return hit;
}

void TrackFinder::join(std::size_t a, std::size_t b) {
  a = root_of(a);
  b = root_of(b);
  if (a == b) return;
  if (size_[a] < size_[b]) std::swap(a, b);
  parent_[b] = a;
  size_[a] += size_[b];
}

}  // namespace tensoa::track
