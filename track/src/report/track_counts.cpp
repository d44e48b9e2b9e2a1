// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/track_counts.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "ratio.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::track {
namespace {

/// Not std::hypot, of which glibc 2.35 has a version that older systems lack.
float length(double x, double y) { return static_cast<float>(std::sqrt(x * x + y * y)); }

constexpr std::int32_t kNone = -1;

/// Numbers ids 0, 1, 2 … as they come: a hash table with open addressing, at most half full. It
/// grows with the ids, of which there are far fewer than hits, and so stays in the cache.
class IdNumbers {
 public:
  std::int32_t of(std::int64_t id) {
    Entry* entry = &table_[place_of(id)];
    if (entry->number != kNone) return entry->number;
    if (2 * size() >= table_.size()) {
      grow();
      entry = &table_[place_of(id)];
    }
    *entry = {id, n_};
    return n_++;
  }

  /// kNone where the id has none.
  std::int32_t known(std::int64_t id) const { return table_[place_of(id)].number; }

  std::size_t size() const { return static_cast<std::size_t>(n_); }

 private:
  struct Entry {
    std::int64_t id = 0;
    std::int32_t number = kNone;
  };

  /// Where the id is, or is to go.
  std::size_t place_of(std::int64_t id) const {
    constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15U;  // 2^64 / golden ratio (Knuth, 6.4)
    const std::size_t last = table_.size() - 1;
    std::size_t at = (static_cast<std::uint64_t>(id) * kSpread >> 32U) & last;
    while (table_[at].number != kNone && table_[at].id != id) at = (at + 1) & last;
    return at;
  }

  void grow() {
    const std::vector<Entry> before = std::exchange(table_, std::vector<Entry>(2 * table_.size()));
    for (const Entry& entry : before) {
      if (entry.number != kNone) table_[place_of(entry.id)] = entry;
    }
  }

  std::vector<Entry> table_ = std::vector<Entry>(1024);
  std::int32_t n_ = 0;
};

/// The hits of a track, of which each has a particle or none; or those of a particle and their tracks.
struct Group {
  std::size_t hits = 0;
  std::int32_t main = kNone;  ///< the only one that may have more than half of the hits
  std::size_t lead = 0;
  std::size_t common = 0;  ///< hits of `main`

  /// The vote of Boyer and Moore (1981): what more than half of the hits have is left at the end.
  void vote(std::int32_t other) {
    ++hits;
    if (lead == 0) main = other;
    lead = main == other ? lead + 1 : lead - 1;
  }
  bool has_majority() const { return main != kNone && 2 * common > hits; }
};

/// Which hits have which track and which particle, by number.
struct Matching {
  explicit Matching(ConstView<Hit> hits)
      : particle_of(hits.size(), kNone), track_of(hits.size(), kNone) {
    IdNumbers track_ids;
    for (std::size_t i = 0; i < hits.size(); ++i) {
      if (hits.track_id[i] >= 0) track_of[i] = track_ids.of(hits.track_id[i]);
      if (hits.particle_id[i] != 0) particle_of[i] = ids.of(hits.particle_id[i]);
    }
    particles.resize(ids.size());
    tracks.resize(track_ids.size());
    for (std::size_t i = 0; i < hits.size(); ++i) {
      if (track_of[i] != kNone) track(track_of[i]).vote(particle_of[i]);
      if (particle_of[i] != kNone) particle(particle_of[i]).vote(track_of[i]);
    }
    for (std::size_t i = 0; i < hits.size(); ++i) {
      if (track_of[i] == kNone || particle_of[i] == kNone) continue;
      if (track(track_of[i]).main == particle_of[i]) ++track(track_of[i]).common;
      if (particle(particle_of[i]).main == track_of[i]) ++particle(particle_of[i]).common;
    }
  }

  Group& track(std::int32_t number) { return tracks[static_cast<std::size_t>(number)]; }
  Group& particle(std::int32_t number) { return particles[static_cast<std::size_t>(number)]; }

  bool is_found(std::size_t number) const {
    const Group& particle = particles[number];
    if (!particle.has_majority()) return false;
    const Group& track = tracks[static_cast<std::size_t>(particle.main)];
    return track.has_majority() && track.main == static_cast<std::int32_t>(number);
  }

  IdNumbers ids;  ///< of particles
  std::vector<std::int32_t> particle_of, track_of;
  std::vector<Group> particles, tracks;
};

void count_matches(const Matching& matching, TrackCounts& counts) {
  std::vector<bool> has_track(matching.particles.size());
  counts.tracks = matching.tracks.size();
  for (const Group& track : matching.tracks) {
    if (!track.has_majority()) {
      ++counts.fakes;
      continue;
    }
    const auto particle = static_cast<std::size_t>(track.main);
    counts.duplicates += has_track[particle] ? 1 : 0;
    has_track[particle] = true;
  }
}

/// The most hits of each particle that the true edges connect.
std::vector<std::size_t> largest_groups(const Matching& matching, const ConstView<Edge>& edges) {
  const std::size_t hits = matching.particle_of.size();
  std::vector<std::size_t> parent(hits);
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  const auto root_of = [&](std::size_t hit) {
    while (parent[hit] != hit) hit = parent[hit] = parent[parent[hit]];
    return hit;
  };
  for (std::size_t e = 0; e < edges.size(); ++e) {
    if (edges.truth[e] == 0) continue;
    const auto source = static_cast<std::size_t>(edges.source[e]);
    const auto target = static_cast<std::size_t>(edges.target[e]);
    if (source >= hits || target >= hits) {
      throw InputError("count_tracks: edge " + std::to_string(e) + " joins rows " +
                       std::to_string(edges.source[e]) + " and " + std::to_string(edges.target[e]) +
                       ", expected rows of the " + std::to_string(hits) + " hits");
    }
    parent[root_of(source)] = root_of(target);
  }
  std::vector<std::size_t> size(hits);
  std::vector<std::size_t> largest(matching.particles.size());
  for (std::size_t i = 0; i < hits; ++i) {
    if (matching.particle_of[i] == kNone) continue;
    std::size_t& most = largest[static_cast<std::size_t>(matching.particle_of[i])];
    most = std::max(most, ++size[root_of(i)]);
  }
  return largest;
}

/// The row of each particle in the table; kNone where the table lacks it.
std::vector<std::int32_t> rows_of(const Matching& matching, const ConstView<Particle>& table) {
  std::vector<std::int32_t> rows(matching.particles.size(), kNone);
  for (std::size_t row = 0; row < table.size(); ++row) {
    const std::int32_t number = matching.ids.known(table.particle_id[row]);
    if (number == kNone) continue;
    if (std::exchange(rows[static_cast<std::size_t>(number)], static_cast<std::int32_t>(row)) !=
        kNone) {
      throw InputError("count_tracks: particle_id " + std::to_string(table.particle_id[row]) +
                       " is duplicated in the particle table; expected unique particle_id");
    }
  }
  return rows;
}

/// A particle where it was produced.
struct Production {
  double pt, eta;
  bool is_primary;

  Production(const ConstView<Particle>& table, std::size_t row)
      : pt(length(table.px[row], table.py[row])),
        eta(std::asinh(static_cast<double>(table.pz[row]) / pt)),
        is_primary(table.charge[row] != 0 &&
                   length(table.vx[row], table.vy[row]) <= kPrimaryRadius) {}
};

void add(CategoryCounts& counts, const ParticleCounts& one, std::size_t hits,
         std::optional<double> pt) {
  for (std::size_t c = 0; c < kCategories.size(); ++c) {
    const Category& category = kCategories[c];
    const bool counts_here = category.min_pt == 0 || (pt && *pt >= category.min_pt);
    if (hits >= category.min_hits && counts_here) counts[c] += one;
  }
}

}  // namespace

EfficiencyBins pt_bins() {
  std::vector<double> edges;
  for (int i = -10; i <= 10; ++i) edges.push_back(std::pow(10.0, i / 10.0));
  return EfficiencyBins(std::move(edges));
}

EfficiencyBins eta_bins() {
  std::vector<double> edges;
  for (int i = -8; i <= 8; ++i) edges.push_back(i / 2.0);
  return EfficiencyBins(std::move(edges));
}

std::optional<double> TrackCounts::fake_rate() const { return events::ratio(fakes, tracks); }

std::optional<double> TrackCounts::duplicate_rate() const {
  return events::ratio(duplicates, tracks);
}

TrackCounts& TrackCounts::operator+=(const TrackCounts& other) {
  events += other.events;
  events_with_particles += other.events_with_particles;
  events_with_edges += other.events_with_edges;
  tracks += other.tracks;
  fakes += other.fakes;
  duplicates += other.duplicates;
  for (std::size_t c = 0; c < kCategories.size(); ++c) {
    all[c] += other.all[c];
    primary[c] += other.primary[c];
  }
  against_pt += other.against_pt;
  against_eta += other.against_eta;
  unlisted += other.unlisted;
  return *this;
}

TrackCounts count_tracks(ConstView<Hit> hits, ConstView<Particle> particles,
                         const std::optional<ConstView<Edge>>& edges) {
  const Matching matching(hits);
  const bool has_table = particles.size() > 0;
  const std::vector<std::int32_t> rows = rows_of(matching, particles);
  std::vector<std::size_t> largest;
  if (edges) largest = largest_groups(matching, *edges);

  TrackCounts counts;
  counts.events = 1;
  counts.events_with_particles = has_table ? 1 : 0;
  counts.events_with_edges = edges ? 1 : 0;
  count_matches(matching, counts);
  for (std::size_t p = 0; p < matching.particles.size(); ++p) {
    const std::size_t n = matching.particles[p].hits;
    if (n < kMinHits) continue;
    const bool is_found = matching.is_found(p);
    const bool is_findable = edges && largest[p] >= kMinHits && 2 * largest[p] > n;
    const ParticleCounts one{.particles = 1,
                             .found = is_found ? 1U : 0U,
                             .with_edges = edges ? 1U : 0U,
                             .findable = is_findable ? 1U : 0U,
                             .findable_found = is_findable && is_found ? 1U : 0U};
    if (rows[p] == kNone) {
      add(counts.all, one, n, std::nullopt);
      counts.unlisted += has_table ? 1 : 0;
      continue;
    }
    const Production production(particles, static_cast<std::size_t>(rows[p]));
    add(counts.all, one, n, production.pt);
    if (!production.is_primary) continue;
    add(counts.primary, one, n, production.pt);
    counts.against_pt.add(production.pt, one);
    counts.against_eta.add(production.eta, one);
  }
  return counts;
}

}  // namespace tensoa::track
