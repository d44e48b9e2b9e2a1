// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "tensoa/track/event.hpp"
#include "tensoa/track/impl/arithmetic.hpp"
#include "tensoa/track/impl/hit_buckets.hpp"
#include "tensoa/track/metrics.hpp"
#include "tensoa/track/tracks.hpp"

/// @file
/// Connected groups of hits as kernels (hit_buckets.hpp): one source for CPU and GPU, the same
/// answer with any number of threads.
///
/// Union-find without locks after ECL-CC (Jaiganesh, Burtscher, "A high-performance connected
/// components implementation for GPUs", HPDC 2018): the root of the larger row is always hung under
/// that of the smaller one, so that a group's root is its first hit, whatever the order.

namespace tensoa::track {

/// One row a hit.
template <template <class> class F>
struct GroupWork {
  F<std::int32_t> parent;  ///< a hit of the same group, not after this one
  F<std::int32_t> first;   ///< the first hit of the group
  F<std::int32_t> n_hits;  ///< hits of the group, at its first hit
  F<std::int32_t> number;  ///< groups up to here that are tracks
};

/// What the kernels find out about an event as a whole.
struct TrackStatus {
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t bad_edge = kNone;   ///< the first selected edge to a hit that is not there
  std::uint64_t bad_scores = 0;     ///< NaN, or outside [0, 1]
  std::uint64_t true_edges = 0;     ///< by the column `truth`
  std::uint64_t selected = 0;       ///< edges of at least the smallest score
  std::uint64_t true_selected = 0;  ///< both
  std::int64_t tracks = 0;
};

/// Every hit a group of its own, and nothing known of the event.
struct SeparateHits {
  static constexpr std::size_t kCounts = 2 * EdgeAuc::kBins;

  View<GroupWork> work;
  TrackStatus* status;
  std::uint32_t* score_counts;  ///< of EdgeAuc, or nullptr

  std::size_t rows() const { return std::max(work.size(), score_counts == nullptr ? 0 : kCounts); }

  TENSOA_HOST_DEVICE void operator()(std::size_t row) const {
    if (row == 0) *status = TrackStatus();
    if (score_counts != nullptr && row < kCounts) score_counts[row] = 0;
    if (row >= work.size()) return;
    work.parent[row] = static_cast<std::int32_t>(row);
    work.n_hits[row] = 0;
  }
};

/// Groups of hits, changed by several rows at once.
struct HitGroups {
  View<GroupWork> work;

  /// The first hit of a group as far as it is joined, with path halving.
  TENSOA_HOST_DEVICE std::int32_t root_of(std::int32_t hit) const {
    std::int32_t next = atomic::load(parent_of(hit));
    while (next != hit) {
      const std::int32_t after = atomic::load(parent_of(next));
      if (after != next) atomic::store(parent_of(hit), after);
      hit = next;
      next = after;
    }
    return hit;
  }

  TENSOA_HOST_DEVICE void join(std::int32_t a, std::int32_t b) const {
    a = root_of(a);
    b = root_of(b);
    while (a != b) {
      if (a < b) {
        const std::int32_t smaller = a;
        a = b;
        b = smaller;
      }
      const std::int32_t before = atomic::exchange_if(parent_of(a), a, b);
      if (before == a) return;
      a = root_of(before);  // another row was faster
      b = root_of(b);
    }
  }

 private:
  TENSOA_HOST_DEVICE std::int32_t& parent_of(std::int32_t hit) const {
    return work.parent[static_cast<std::size_t>(hit)];
  }
};

/// Edges, and which of the rows are some.
struct EdgeRows {
  ConstView<Edge> edges;
  const GraphStatus* graph = nullptr;  ///< of the event; without one all rows are edges

  TENSOA_HOST_DEVICE bool has(std::size_t e) const {
    return graph == nullptr || e < graph->edges_in(edges.size());
  }
};

/// What is found out about the edges on the way.
struct EdgeFigures {
  bool are_compared = false;              ///< with the column `truth`: the counts of TrackStatus
  std::uint32_t* score_counts = nullptr;  ///< those of EdgeAuc; nullptr: they are not wanted
};

/// Joins the groups of an edge's hits where its score is at least `min_score`; a NaN joins nothing.
struct JoinHits {
  HitGroups groups;
  EdgeRows rows;
  float min_score;
  EdgeFigures figures;
  TrackStatus* status;

  TENSOA_HOST_DEVICE void operator()(std::size_t e) const {
    if (!rows.has(e)) return;
    const ConstView<Edge>& edges = rows.edges;
    if (figures.are_compared) compare(e);
    const float score = edges.score[e];
    if (!(score >= 0 && score <= 1)) atomic::add(status->bad_scores, 1U);
    if (!(score >= min_score)) return;
    const auto source = static_cast<std::size_t>(edges.source[e]);
    const auto target = static_cast<std::size_t>(edges.target[e]);
    if (source >= groups.work.size() || target >= groups.work.size()) {
      atomic::lower(status->bad_edge, e);
      return;
    }
    groups.join(static_cast<std::int32_t>(source), static_cast<std::int32_t>(target));
  }

 private:
  TENSOA_HOST_DEVICE void compare(std::size_t e) const {
    const ConstView<Edge>& edges = rows.edges;
    const bool is_true = edges.truth[e] != 0;
    const bool is_selected = edges.score[e] >= min_score;
    if (is_true) atomic::add(status->true_edges, 1U);
    if (is_selected) atomic::add(status->selected, 1U);
    if (is_true && is_selected) atomic::add(status->true_selected, 1U);
    if (figures.score_counts == nullptr) return;
    atomic::add(
        figures.score_counts[(is_true ? EdgeAuc::kBins : 0) + EdgeAuc::bin_of(edges.score[e])], 1U);
  }
};

/// Finds the first hit of each hit's group, and counts there.
struct CountGroups {
  HitGroups groups;

  TENSOA_HOST_DEVICE void operator()(std::size_t row) const {
    const std::int32_t first = groups.root_of(static_cast<std::int32_t>(row));
    groups.work.first[row] = first;
    atomic::add(groups.work.n_hits[static_cast<std::size_t>(first)], 1);
  }
};

/// 1 at the first hit of a track, else 0.
struct MarkTracks {
  View<GroupWork> work;
  std::int32_t min_hits;

  TENSOA_HOST_DEVICE void operator()(std::size_t row) const {
    const bool is_first = work.first[row] == static_cast<std::int32_t>(row);
    work.number[row] = is_first && work.n_hits[row] >= min_hits ? 1 : 0;
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
    const auto first = static_cast<std::size_t>(work.first[row]);
    track_id[row] = work.n_hits[first] >= min_hits ? work.number[first] - 1 : -1;
    if (row + 1 == work.size()) status->tracks = work.number[row];
  }
};

/// Joins the hits of edges by their scores.
/// @param work [n_hits]
template <class Launcher>
void join_hits(const Launcher& launch, View<GroupWork> work, const EdgeRows& rows,
               const TrackOptions& options, TrackStatus* status, const EdgeFigures& figures = {}) {
  const SeparateHits separate{work, status, figures.score_counts};
  launch.rows(separate.rows(), separate);
  launch.rows(rows.edges.size(), JoinHits{{work}, rows, options.min_score, figures, status});
}

/// Turns hits that are joined into tracks.
/// @param work, track_id [n_hits]
template <class Launcher>
void number_tracks(const Launcher& launch, View<GroupWork> work, const TrackOptions& options,
                   std::int64_t* track_id, TrackStatus* status) {
  const std::size_t n = work.size();
  constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
  const auto min_hits = static_cast<std::int32_t>(std::min(options.min_hits, kMost));
  launch.rows(n, CountGroups{{work}});
  launch.rows(n, MarkTracks{work, min_hits});
  launch.running_sum(work.number.data(), n, work.number.data());
  launch.rows(n, NumberTracks{work, min_hits, track_id, status});
}

/// Turns edge scores into tracks: both steps.
template <class Launcher>
void find_tracks(const Launcher& launch, View<GroupWork> work, const EdgeRows& rows,
                 const TrackOptions& options, std::int64_t* track_id, TrackStatus* status,
                 const EdgeFigures& figures = {}) {
  join_hits(launch, work, rows, options, status, figures);
  number_tracks(launch, work, options, track_id, status);
}

}  // namespace tensoa::track
