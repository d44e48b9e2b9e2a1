// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <compare>
#include <string>
#include <unordered_map>

#include "tensoa/core/error.hpp"

namespace tensoa::track {
namespace {

std::optional<double> ratio(std::size_t part, std::size_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::optional<double> EdgeCounts::efficiency() const { return ratio(true_selected, true_edges); }

std::optional<double> EdgeCounts::purity() const { return ratio(true_selected, selected); }

EdgeCounts& EdgeCounts::operator+=(const EdgeCounts& other) {
  edges += other.edges;
  true_edges += other.true_edges;
  selected += other.selected;
  true_selected += other.true_selected;
  return *this;
}

EdgeCounts compare_edges(ConstView<Edge> edges, float min_score) {
  EdgeCounts counts;
  counts.edges = edges.size();
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const std::size_t is_true = edges.truth[e] != 0 ? 1 : 0;
    const std::size_t is_selected = edges.score[e] >= min_score ? 1 : 0;
    counts.true_edges += is_true;
    counts.selected += is_selected;
    counts.true_selected += is_true & is_selected;
  }
  return counts;
}

void EdgeAuc::add(ConstView<Edge> edges) {
  for (std::size_t e = 0; e < edges.size(); ++e) {
    if (std::isnan(edges.score[e])) {
      throw EngineError("edge " + std::to_string(e) + ": got a score of NaN, expected 0 to 1");
    }
  }
  for (std::size_t e = 0; e < edges.size(); ++e) {
    (edges.truth[e] != 0 ? true_scores_ : false_scores_).push_back(edges.score[e]);
  }
}

EdgeAuc& EdgeAuc::operator+=(const EdgeAuc& other) {
  true_scores_.insert(true_scores_.end(), other.true_scores_.begin(), other.true_scores_.end());
  false_scores_.insert(false_scores_.end(), other.false_scores_.begin(), other.false_scores_.end());
  return *this;
}

std::optional<double> EdgeAuc::value() const {
  if (true_scores_.empty() || false_scores_.empty()) return std::nullopt;
  auto trues = true_scores_;
  auto falses = false_scores_;
  std::sort(trues.begin(), trues.end());
  std::sort(falses.begin(), falses.end());
  std::uint64_t half_pairs = 0;  // twice the number of pairs in the right order, plus the ties
  std::size_t below = 0;         // false scores less than this true one
  std::size_t not_above = 0;     // false scores less or equal
  for (const float score : trues) {
    while (below < falses.size() && falses[below] < score) ++below;
    while (not_above < falses.size() && falses[not_above] <= score) ++not_above;
    half_pairs += below + not_above;
  }
  return static_cast<double>(half_pairs) /
         (2.0 * static_cast<double>(trues.size()) * static_cast<double>(falses.size()));
}

std::optional<double> TrackCounts::efficiency() const { return ratio(found, particles); }

TrackCounts& TrackCounts::operator+=(const TrackCounts& other) {
  particles += other.particles;
  found += other.found;
  tracks += other.tracks;
  return *this;
}

TrackCounts count_tracks(ConstView<Hit> hits, std::size_t min_hits) {
  struct Shared {  // one hit of a particle on a track; sorted, equal ones are neighbours
    std::int64_t track, particle;
    auto operator<=>(const Shared&) const = default;
  };
  std::unordered_map<std::int64_t, std::size_t> hits_of_particle;
  std::unordered_map<std::int64_t, std::size_t> hits_of_track;
  std::vector<Shared> shared;
  for (std::size_t i = 0; i < hits.size(); ++i) {
    const Shared hit{hits.track_id[i], hits.particle_id[i]};
    if (hit.particle != 0) ++hits_of_particle[hit.particle];
    if (hit.track >= 0) ++hits_of_track[hit.track];
    if (hit.particle != 0 && hit.track >= 0) shared.push_back(hit);
  }
  std::sort(shared.begin(), shared.end());

  TrackCounts counts;
  counts.tracks = hits_of_track.size();
  for (const auto& [particle, n] : hits_of_particle) counts.particles += n >= min_hits ? 1 : 0;
  for (auto first = shared.begin(); first != shared.end();) {
    const auto last = std::upper_bound(first, shared.end(), *first);
    const auto common = static_cast<std::size_t>(last - first);
    const std::size_t of_particle = hits_of_particle[first->particle];
    if (of_particle >= min_hits && 2 * common > of_particle &&
        2 * common > hits_of_track[first->track]) {
      ++counts.found;  // no other track can have more than half of this particle's hits
    }
    first = last;
  }
  return counts;
}

}  // namespace tensoa::track
