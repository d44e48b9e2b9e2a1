// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "tensoa/track/event.hpp"
#include "tensoa/track/impl/arithmetic.hpp"
#include "tensoa/track/impl/hit_groups.hpp"
#include "tensoa/track/tracks.hpp"

/// @file
/// Tracks as kernels (hit_buckets.hpp): what TrackFinder states, by groups in parallel.
///
/// Edges join hits of one connected group only, so each group is a problem of its own, and a team solves
/// it. Taking edges one after the other (Kruskal, 1956) has the same result as rounds in which every
/// edge that is the best one left for both of its tracks is taken (Boruvka, 1926): better edges elsewhere
/// do not touch these two. The best edge that is left always is one of these, so that rounds end. Where a team
/// can sort the edges, most of a few dozen, one lane takes one after the other: that is faster than rounds.

namespace tensoa::track {

/// Counts the selected edges of each group.
struct CountGroupEdges {
  View<GroupWork> work;
  SelectedEdges selected;

  TENSOA_HOST_DEVICE void operator()(std::size_t e) const {
    if (!selected.has(e)) return;
    const auto source = static_cast<std::size_t>(selected.rows.edges.source[e]);
    atomic::add(work.n_edges[static_cast<std::size_t>(work.first[source])], 1);
  }
};

/// Writes the selected edges of each group into slots one after the other, in any order.
struct PlaceGroupEdges {
  View<GroupWork> work;  ///< `end` is there
  SelectedEdges selected;
  std::int32_t* slots;  ///< [n_edges]

  TENSOA_HOST_DEVICE void operator()(std::size_t e) const {
    if (!selected.has(e)) return;
    const auto source = static_cast<std::size_t>(selected.rows.edges.source[e]);
    const auto group = static_cast<std::size_t>(work.first[source]);
    const std::int32_t left = atomic::add(work.n_edges[group], -1);
    slots[work.end[group] - left] = static_cast<std::int32_t>(e);
  }
};

/// Joins the hits of one group to tracks.
struct BuildTracks {
  View<GroupWork> work;
  View<Hit> hits;         ///< x, y, z, layer are read
  ConstView<Edge> edges;  ///< source, target, score are read
  std::int32_t* slots;    ///< of PlaceGroupEdges; those of edges that are done become kDone
  std::int32_t min_hits;
  float max_layer_distance;

  template <class Team>
  TENSOA_HOST_DEVICE void operator()(const Team& team, std::size_t group) const {
    const std::size_t begin = group == 0 ? 0 : slot_end(group - 1);
    const std::size_t end = slot_end(group);
    if (begin == end || work.n_hits[group] < min_hits) return;
    const auto is_better = [this](std::int32_t a, std::int32_t b) {
      return rank_of(a) > rank_of(b);
    };
    if (team.sort(slots + begin, end - begin, is_better)) {
      if (team.lane() > 0) return;
      for (std::size_t i = begin; i < end; ++i) take_in_order(slots[i]);
      return;
    }
    const std::size_t first = begin + team.lane();
    while (true) {
      bool is_left = false;
      for (std::size_t i = first; i < end; i += team.size()) is_left |= offer(slots[i]);
      if (!team.any(is_left)) return;
      for (std::size_t i = first; i < end; i += team.size()) take(slots[i]);
      team.sync();
      for (std::size_t i = first; i < end; i += team.size()) forget_best(slots[i]);
      team.sync();
    }
  }

 private:
  static constexpr std::int32_t kDone = -1;

  TENSOA_HOST_DEVICE std::size_t slot_end(std::size_t group) const {
    return static_cast<std::size_t>(work.end[group]);
  }

  TENSOA_HOST_DEVICE std::size_t track_of(std::int64_t hit) const {
    return static_cast<std::size_t>(atomic::load(work.track[static_cast<std::size_t>(hit)]));
  }

  /// Ascends with the score, and descends with the row where scores are equal; not negative.
  TENSOA_HOST_DEVICE std::int64_t rank_of(std::int32_t edge) const {
    const float score = edges.score[static_cast<std::size_t>(edge)] + 0.0F;  // -0 becomes 0
    return static_cast<std::int64_t>(std::uint64_t{std::bit_cast<std::uint32_t>(score)} << 32U |
                                     ~static_cast<std::uint32_t>(edge));
  }

  /// Joins the tracks of an edge, where this lane is the only one.
  TENSOA_HOST_DEVICE void take_in_order(std::int32_t edge) const {
    const auto e = static_cast<std::size_t>(edge);
    const auto a = static_cast<std::size_t>(work.track[static_cast<std::size_t>(edges.source[e])]);
    const auto b = static_cast<std::size_t>(work.track[static_cast<std::size_t>(edges.target[e])]);
    if (a != b) join_if_they_fit(a, b);
  }

  /// @return false: the edge is done
  TENSOA_HOST_DEVICE bool offer(std::int32_t& edge) const {
    if (edge == kDone) return false;
    const auto e = static_cast<std::size_t>(edge);
    const std::size_t a = track_of(edges.source[e]);
    const std::size_t b = track_of(edges.target[e]);
    if (a == b) {
      edge = kDone;
      return false;
    }
    atomic::raise(work.best[a], rank_of(edge));
    atomic::raise(work.best[b], rank_of(edge));
    return true;
  }

  /// Only this lane changes the two tracks, as the edge is the best of both.
  TENSOA_HOST_DEVICE void take(std::int32_t& edge) const {
    if (edge == kDone) return;
    const auto e = static_cast<std::size_t>(edge);
    const std::size_t a = track_of(edges.source[e]);
    const std::size_t b = track_of(edges.target[e]);
    const std::int64_t rank = rank_of(edge);
    if (atomic::load(work.best[a]) != rank || atomic::load(work.best[b]) != rank) return;
    join_if_they_fit(a, b);
    edge = kDone;
  }

  TENSOA_HOST_DEVICE void forget_best(std::int32_t edge) const {
    if (edge == kDone) return;
    const auto e = static_cast<std::size_t>(edge);
    atomic::store(work.best[track_of(edges.source[e])], std::int64_t{-1});
    atomic::store(work.best[track_of(edges.target[e])], std::int64_t{-1});
  }

  TENSOA_HOST_DEVICE std::size_t next_of(std::size_t hit) const {
    return static_cast<std::size_t>(work.next[hit]);
  }

  /// Whether hits of two tracks lie on one layer, too far apart.
  TENSOA_HOST_DEVICE bool contradict(std::size_t a, std::size_t b) const {
    if ((work.layers[a] & work.layers[b]) == 0) return false;
    std::size_t i = a;
    do {
      std::size_t j = b;
      do {
        if (hits.layer[i] != 0 && hits.layer[i] == hits.layer[j] && are_far(i, j)) return true;
        j = next_of(j);
      } while (j != b);
      i = next_of(i);
    } while (i != a);
    return false;
  }

  TENSOA_HOST_DEVICE bool are_far(std::size_t i, std::size_t j) const {
    const float dx = hits.x[i] - hits.x[j];
    const float dy = hits.y[i] - hits.y[j];
    const float dz = hits.z[i] - hits.z[j];
    return dx * dx + dy * dy + dz * dz > max_layer_distance * max_layer_distance;
  }

  TENSOA_HOST_DEVICE void join_if_they_fit(std::size_t one, std::size_t other) const {
    if (contradict(one, other)) return;
    const std::size_t a = one < other ? one : other;
    const std::size_t b = one < other ? other : one;
    std::size_t hit = b;
    do {
      atomic::store(work.track[hit], static_cast<std::int32_t>(a));
      hit = next_of(hit);
    } while (hit != b);
    const std::int32_t after_a = work.next[a];  // two circles become one
    work.next[a] = work.next[b];
    work.next[b] = after_a;
    work.layers[a] |= work.layers[b];
  }
};

/// Counts the hits of each track.
struct CountTrackHits {
  View<GroupWork> work;

  TENSOA_HOST_DEVICE void operator()(std::size_t row) const {
    atomic::add(work.track_hits[static_cast<std::size_t>(work.track[row])], 1);
  }
};

/// 1 at the first hit of a track that has enough, else 0.
struct MarkTracks {
  View<GroupWork> work;
  std::int32_t min_hits;

  TENSOA_HOST_DEVICE void operator()(std::size_t row) const {
    const bool is_first = work.track[row] == static_cast<std::int32_t>(row);
    work.number[row] = is_first && work.track_hits[row] >= min_hits ? 1 : 0;
  }
};

/// Writes the tracks' numbers, 0, 1, 2 … in order of the first hit, -1 for no track, and how many
/// they are.
struct NumberTracks {
  View<GroupWork> work;  ///< `number` is summed up
  std::int32_t min_hits;
  std::int64_t* track_id;  ///< [n_hits]
  TrackStatus* status;

  TENSOA_HOST_DEVICE void operator()(std::size_t row) const {
    const auto first = static_cast<std::size_t>(work.track[row]);
    track_id[row] = work.track_hits[first] >= min_hits ? work.number[first] - 1 : -1;
    if (row + 1 == work.size()) status->tracks = work.number[row];
  }
};

/// Turns hits that join_hits() joined into tracks.
/// @param work, hits, track_id [n_hits]; x, y, z, layer of the hits are read
/// @param slots [n_edges]
template <class Launcher>
void split_groups(const Launcher& launch, View<GroupWork> work, View<Hit> hits,
                  const EdgeRows& rows, const TrackOptions& options, std::int32_t* slots,
                  std::int64_t* track_id, TrackStatus* status) {
  const std::size_t n = work.size();
  constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
  const auto min_hits = static_cast<std::int32_t>(std::min(options.min_hits, kMost));
  const SelectedEdges selected = select(rows, n, options);
  launch.rows(rows.edges.size(), CountGroupEdges{work, selected});
  launch.running_sum(work.n_edges.data(), n, work.end.data());
  launch.rows(rows.edges.size(), PlaceGroupEdges{work, selected, slots});
  launch.teams(n, BuildTracks{work, hits, rows.edges, slots, min_hits, options.max_layer_distance});
  launch.rows(n, CountTrackHits{work});
  launch.rows(n, MarkTracks{work, min_hits});
  launch.running_sum(work.number.data(), n, work.number.data());
  launch.rows(n, NumberTracks{work, min_hits, track_id, status});
}

/// Turns edge scores into tracks: both steps.
template <class Launcher>
void find_tracks(const Launcher& launch, View<GroupWork> work, View<Hit> hits, const EdgeRows& rows,
                 const TrackOptions& options, std::int32_t* slots, std::int64_t* track_id,
                 TrackStatus* status, const EdgeFigures& figures = {}) {
  join_hits(launch, work, hits, rows, options, status, figures);
  split_groups(launch, work, hits, rows, options, slots, track_id, status);
}

}  // namespace tensoa::track
