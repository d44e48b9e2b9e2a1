// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "tensoa/events/impl/arithmetic.hpp"
#include "tensoa/track/event.hpp"
#include "tensoa/track/impl/hit_groups.hpp"
#include "tensoa/track/tracks.hpp"

/// @file
/// Tracks as kernels (hit_buckets.hpp): what TrackFinder states, by groups in parallel.
///
/// Edges join hits of one connected group only, so each group is a separate problem, and a team solves
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
    events::atomic::add(work.n_edges[static_cast<std::size_t>(work.first[source])], 1);
  }
};

/// A selected edge; those of a group lie one after the other.
struct GroupEdge {
  /// Of an edge that is taken, or whose hits are on one track.
  static constexpr std::int64_t kDone = -1;

  /// Ascends with the score, and descends with the row where scores are equal; not negative.
  std::int64_t rank;
  std::int32_t source, target;  ///< hits

  struct IsBetter {
    TENSOA_HOST_DEVICE bool operator()(const GroupEdge& a, const GroupEdge& b) const {
      return a.rank > b.rank;
    }
  };
};

/// Collects the edges of each group, in no order that means anything.
struct PlaceGroupEdges {
  View<GroupWork> work;  ///< `end` is there
  SelectedEdges selected;
  GroupEdge* group_edges;  ///< [n_edges]

  TENSOA_HOST_DEVICE void operator()(std::size_t e) const {
    if (!selected.has(e)) return;
    const ConstView<Edge>& edges = selected.rows.edges;
    const auto source = static_cast<std::int32_t>(edges.source[e]);
    const auto target = static_cast<std::int32_t>(edges.target[e]);
    const auto group = static_cast<std::size_t>(work.first[static_cast<std::size_t>(source)]);
    const std::int32_t left = events::atomic::add(work.n_edges[group], -1);
    group_edges[work.end[group] - left] = {rank_of(edges.score[e], e), source, target};
  }

 private:
  TENSOA_HOST_DEVICE static std::int64_t rank_of(float score, std::size_t edge) {
    const auto bits = std::bit_cast<std::uint32_t>(score + 0.0F);  // -0 becomes 0
    return static_cast<std::int64_t>(std::uint64_t{bits} << 32U |
                                     ~static_cast<std::uint32_t>(edge));
  }
};

/// Joins the hits of one group to tracks.
struct BuildTracks {
  View<GroupWork> work;
  View<Hit> hits;          ///< x, y, z, layer are read
  GroupEdge* group_edges;  ///< of PlaceGroupEdges
  std::int32_t min_hits;
  float max_layer_distance;

  template <class Team>
  TENSOA_HOST_DEVICE void operator()(const Team& team, std::size_t group) const {
    const auto begin = static_cast<std::size_t>(group == 0 ? 0 : work.end[group - 1]);
    const auto n = static_cast<std::size_t>(work.end[group]) - begin;
    if (n == 0 || work.n_hits[group] < min_hits) return;
    GroupEdge* const edges = group_edges + begin;
    if (team.sort(edges, n, GroupEdge::IsBetter())) {
      if (team.lane() > 0) return;
      for (std::size_t i = 0; i < n; ++i) take_in_order(edges[i]);
      return;
    }
    while (true) {
      bool is_left = false;
      for (std::size_t i = team.lane(); i < n; i += team.size()) is_left |= offer(edges[i]);
      if (!team.any(is_left)) return;
      for (std::size_t i = team.lane(); i < n; i += team.size()) take(edges[i]);
      team.sync();
      for (std::size_t i = team.lane(); i < n; i += team.size()) forget_best(edges[i]);
      team.sync();
    }
  }

 private:
  /// Where other lanes may join tracks at the same time.
  TENSOA_HOST_DEVICE std::size_t track_of(std::int32_t hit) const {
    return static_cast<std::size_t>(
        events::atomic::load(work.track[static_cast<std::size_t>(hit)]));
  }

  /// Joins the tracks of an edge, where this lane is the only one.
  TENSOA_HOST_DEVICE void take_in_order(const GroupEdge& edge) const {
    const auto a = static_cast<std::size_t>(work.track[static_cast<std::size_t>(edge.source)]);
    const auto b = static_cast<std::size_t>(work.track[static_cast<std::size_t>(edge.target)]);
    if (a != b) join_if_they_fit(a, b);
  }

  /// @return false: the edge is done
  TENSOA_HOST_DEVICE bool offer(GroupEdge& edge) const {
    if (edge.rank == GroupEdge::kDone) return false;
    const std::size_t a = track_of(edge.source);
    const std::size_t b = track_of(edge.target);
    if (a == b) {
      edge.rank = GroupEdge::kDone;
      return false;
    }
    events::atomic::raise(work.best[a], edge.rank);
    events::atomic::raise(work.best[b], edge.rank);
    return true;
  }

  /// Only this lane changes the two tracks, as the edge is the best of both.
  TENSOA_HOST_DEVICE void take(GroupEdge& edge) const {
    if (edge.rank == GroupEdge::kDone) return;
    const std::size_t a = track_of(edge.source);
    const std::size_t b = track_of(edge.target);
    if (events::atomic::load(work.best[a]) != edge.rank ||
        events::atomic::load(work.best[b]) != edge.rank)
      return;
    join_if_they_fit(a, b);
    edge.rank = GroupEdge::kDone;
  }

  TENSOA_HOST_DEVICE void forget_best(const GroupEdge& edge) const {
    if (edge.rank == GroupEdge::kDone) return;
    events::atomic::store(work.best[track_of(edge.source)], std::int64_t{-1});
    events::atomic::store(work.best[track_of(edge.target)], std::int64_t{-1});
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
      events::atomic::store(work.track[hit], static_cast<std::int32_t>(a));
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
    events::atomic::add(work.track_hits[static_cast<std::size_t>(work.track[row])], 1);
  }
};

/// 1 at the first hit of a track that has enough, else 0.
struct MarkTracks {
  View<GroupWork> work;
  std::int32_t min_hits;
  const GraphStatus* graph;  ///< of the event; without one all rows are hits

  TENSOA_HOST_DEVICE void operator()(std::size_t row) const {
    const bool is_first = work.track[row] == static_cast<std::int32_t>(row);
    const bool is_hit = graph == nullptr || graph->has_hit(row);
    work.number[row] = is_hit && is_first && work.track_hits[row] >= min_hits ? 1 : 0;
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

/// The groups that are connected are the tracks, as they are.
struct TakeGroups {
  HitGroups groups;

  TENSOA_HOST_DEVICE void operator()(std::size_t row) const {
    groups.work.track[row] = groups.root_of(static_cast<std::int32_t>(row));
  }
};

inline std::int32_t min_hits_of(const TrackOptions& options) {
  constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::min(options.min_hits, kMost));
}

/// Numbers the tracks of the column `track`.
/// @param work, track_id [n_hits]
template <class Launcher>
void number_tracks(const Launcher& launch, View<GroupWork> work, std::int32_t min_hits,
                   std::int64_t* track_id, TrackStatus* status,
                   const GraphStatus* graph = nullptr) {
  const std::size_t n = work.size();
  launch.rows(n, CountTrackHits{work});
  launch.rows(n, MarkTracks{work, min_hits, graph});
  launch.running_sum(work.number.data(), n, work.number.data());
  launch.rows(n, NumberTracks{work, min_hits, track_id, status});
}

/// Turns hits that join_hits() joined into tracks.
/// @param work, hits, track_id [n_hits]; x, y, z, layer of the hits are read
/// @param group_edges [n_edges]
template <class Launcher>
void split_groups(const Launcher& launch, View<GroupWork> work, View<Hit> hits,
                  const EdgeRows& rows, const TrackOptions& options, GroupEdge* group_edges,
                  std::int64_t* track_id, TrackStatus* status) {
  const std::size_t n = work.size();
  const std::int32_t min_hits = min_hits_of(options);
  const SelectedEdges selected = select(rows, n, options);
  launch.rows(rows.edges.size(), CountGroupEdges{work, selected});
  launch.running_sum(work.n_edges.data(), n, work.end.data());
  launch.rows(rows.edges.size(), PlaceGroupEdges{work, selected, group_edges});
  launch.teams(n, BuildTracks{work, hits, group_edges, min_hits, options.max_layer_distance});
  number_tracks(launch, work, min_hits, track_id, status, rows.graph);
}

/// Turns edge scores into tracks: both steps.
template <class Launcher>
void find_tracks(const Launcher& launch, View<GroupWork> work, View<Hit> hits, const EdgeRows& rows,
                 const TrackOptions& options, GroupEdge* group_edges, std::int64_t* track_id,
                 TrackStatus* status, const EdgeFigures& figures = {}) {
  join_hits(launch, work, hits, rows, options, status, figures);
  split_groups(launch, work, hits, rows, options, group_edges, track_id, status);
}

}  // namespace tensoa::track
