// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/metrics.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tensoa/core/error.hpp"

namespace tensoa::track {
namespace {

std::optional<double> ratio(std::size_t part, std::size_t whole) {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

/// Numbers ids 0, 1, 2 … as they come: a hash table with open addressing.
class Numbers {
 public:
  /// @param most different ids
  explicit Numbers(std::size_t most) : table_(std::bit_ceil(2 * most + 1), {0, kFree}) {}

  std::int32_t of(std::int64_t id) {
    constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15U;  // 2^64 / golden ratio (Knuth, 6.4)
    const std::size_t last = table_.size() - 1;
    std::size_t at = (static_cast<std::uint64_t>(id) * kSpread >> 32U) & last;
    while (table_[at].number != kFree && table_[at].id != id) at = (at + 1) & last;
    if (table_[at].number == kFree) table_[at] = {id, n_++};
    return table_[at].number;
  }

  std::size_t size() const { return static_cast<std::size_t>(n_); }

 private:
  static constexpr std::int32_t kFree = -1;
  struct Entry {
    std::int64_t id;
    std::int32_t number;
  };
  std::vector<Entry> table_;
  std::int32_t n_ = 0;
};

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
  counts_.resize(2 * kBins);
  for (std::size_t e = 0; e < edges.size(); ++e) {
    ++counts_[(edges.truth[e] != 0 ? kBins : 0) + bin_of(edges.score[e])];
  }
}

void EdgeAuc::add(const Counts& counts) { add_counts(counts); }

EdgeAuc& EdgeAuc::operator+=(const EdgeAuc& other) {
  if (!other.counts_.empty()) add_counts(other.counts_);
  return *this;
}

template <class Numbers>
void EdgeAuc::add_counts(const Numbers& counts) {
  counts_.resize(2 * kBins);
  std::transform(counts_.begin(), counts_.end(), counts.begin(), counts_.begin(), std::plus<>());
}

std::optional<double> EdgeAuc::value() const {
  if (counts_.empty()) return std::nullopt;
  double half_pairs = 0;  // twice the number of pairs in the right order, plus the ties
  double falses = 0;
  double trues = 0;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    const auto false_here = static_cast<double>(counts_[bin]);
    const auto true_here = static_cast<double>(counts_[kBins + bin]);
    half_pairs += true_here * (2 * falses + false_here);
    falses += false_here;
    trues += true_here;
  }
  if (trues == 0 || falses == 0) return std::nullopt;
  return half_pairs / (2 * trues * falses);
}

std::optional<double> TrackCounts::efficiency() const { return ratio(found, particles); }

TrackCounts& TrackCounts::operator+=(const TrackCounts& other) {
  particles += other.particles;
  found += other.found;
  tracks += other.tracks;
  return *this;
}

TrackCounts count_tracks(ConstView<Hit> hits, std::size_t min_hits) {
  constexpr std::int32_t kNone = -1;
  struct Particle {
    std::size_t hits = 0;
    std::int32_t track = kNone;  ///< the only one that may have more than half of the hits
    std::size_t lead = 0;
    std::size_t common = 0;  ///< hits on that track
  };
  Numbers particle_numbers(hits.size());
  Numbers track_numbers(hits.size());
  std::vector<Particle> particles;
  std::vector<std::size_t> hits_of_track;
  std::vector<std::int32_t> particle_of(hits.size(), kNone);
  std::vector<std::int32_t> track_of(hits.size(), kNone);
  for (std::size_t i = 0; i < hits.size(); ++i) {
    if (hits.track_id[i] >= 0) {
      track_of[i] = track_numbers.of(hits.track_id[i]);
      hits_of_track.resize(track_numbers.size());
      ++hits_of_track[static_cast<std::size_t>(track_of[i])];
    }
    if (hits.particle_id[i] == 0) continue;
    particle_of[i] = particle_numbers.of(hits.particle_id[i]);
    particles.resize(particle_numbers.size());
    // The vote of Boyer and Moore (1981): a track with more than half of the hits is left at the end.
    Particle& particle = particles[static_cast<std::size_t>(particle_of[i])];
    ++particle.hits;
    if (particle.lead == 0) particle.track = track_of[i];
    particle.lead = particle.track == track_of[i] ? particle.lead + 1 : particle.lead - 1;
  }
  for (std::size_t i = 0; i < hits.size(); ++i) {
    if (particle_of[i] == kNone || track_of[i] == kNone) continue;
    Particle& particle = particles[static_cast<std::size_t>(particle_of[i])];
    particle.common += particle.track == track_of[i] ? 1 : 0;
  }

  TrackCounts counts{.tracks = track_numbers.size()};
  for (const Particle& particle : particles) {
    if (particle.hits < min_hits) continue;
    ++counts.particles;
    if (particle.track == kNone || 2 * particle.common <= particle.hits) continue;
    const std::size_t of_track = hits_of_track[static_cast<std::size_t>(particle.track)];
    counts.found += 2 * particle.common > of_track ? 1 : 0;
  }
  return counts;
}

}  // namespace tensoa::track
