// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "tensoa/events/impl/arithmetic.hpp"
#include "tensoa/track/event.hpp"
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
  F<std::int32_t> parent;   ///< a hit of the same group, not after this one
  F<std::int32_t> first;    ///< the first hit of the group
  F<std::int32_t> n_hits;   ///< hits of the group, at its first hit
  F<std::int32_t> n_edges;  ///< selected edges of the group, at its first hit; those not yet placed
  F<std::int32_t> end;      ///< selected edges of all groups with first hits up to here

  // Tracks inside a group (track_groups.hpp).
  F<std::int32_t> track;       ///< the first hit of the track
  F<std::int32_t> track_hits;  ///< hits of the track, at its first hit
  F<std::int32_t> next;        ///< the next hit of the track; the last one's is the first
  F<std::int64_t> layers;  ///< bits of the track's layers, at its first hit; two may share a bit
  F<std::int64_t> best;    ///< the rank of the track's best edge, at its first hit; -1: none
  F<std::int32_t> number;  ///< tracks with first hits up to here
};

/// Results of the kernels for an event as a whole.
struct TrackStatus {
  static constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t bad_edge = kNone;   ///< the first selected edge to a hit that is not there
  std::uint64_t bad_scores = 0;     ///< NaN, or outside [0, 1]
  std::uint64_t true_edges = 0;     ///< by the column `truth`
  std::uint64_t selected = 0;       ///< edges of at least the smallest score
  std::uint64_t true_selected = 0;  ///< both
  std::int64_t tracks = 0;
};

/// Every hit is a separate group, with no information on the event.
struct SeparateHits {
  static constexpr std::size_t kCounts = 2 * EdgeAuc::kBins;

  View<GroupWork> work;
  const std::int32_t* layers;  ///< [n_hits]; nullptr: unknown
  TrackStatus* status;
  std::uint32_t* score_counts;  ///< of EdgeAuc, or nullptr

  std::size_t rows() const { return std::max(work.size(), score_counts == nullptr ? 0 : kCounts); }

  TENSOA_HOST_DEVICE void operator()(std::size_t row) const {
    if (row == 0) *status = TrackStatus();
    if (score_counts != nullptr && row < kCounts) score_counts[row] = 0;
    if (row >= work.size()) return;
    work.parent[row] = work.track[row] = work.next[row] = static_cast<std::int32_t>(row);
    work.n_hits[row] = work.n_edges[row] = work.track_hits[row] = 0;
    work.layers[row] = layers == nullptr ? 0 : bit_of(layers[row]);
    work.best[row] = -1;
  }

 private:
  /// By Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4): layer numbers of one detector
  /// differ in few bits.
  TENSOA_HOST_DEVICE static std::int64_t bit_of(std::int32_t layer) {
    if (layer == 0) return 0;
    const std::uint32_t place = static_cast<std::uint32_t>(layer) * 0x9E3779B9U >> 26U;
    return static_cast<std::int64_t>(std::uint64_t{1} << place);
  }
};

/// Groups of hits, changed by several rows at the same time.
struct HitGroups {
  View<GroupWork> work;

  /// The first hit of a group as far as it is joined, with path halving.
  TENSOA_HOST_DEVICE std::int32_t root_of(std::int32_t hit) const {
    std::int32_t next = events::atomic::load(parent_of(hit));
    while (next != hit) {
      const std::int32_t after = events::atomic::load(parent_of(next));
      if (after != next) events::atomic::store(parent_of(hit), after);
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
      const std::int32_t before = events::atomic::exchange_if(parent_of(a), a, b);
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

/// Edges between hits that are there, of at least the smallest score; NaN is none.
struct SelectedEdges {
  EdgeRows rows;
  std::size_t n_hits;
  float min_score;  ///< not negative

  TENSOA_HOST_DEVICE bool reaches(std::size_t e) const {
    return static_cast<std::size_t>(rows.edges.source[e]) < n_hits &&
           static_cast<std::size_t>(rows.edges.target[e]) < n_hits;
  }
  TENSOA_HOST_DEVICE bool has(std::size_t e) const {
    return rows.has(e) && rows.edges.score[e] >= min_score && reaches(e);
  }
};

inline SelectedEdges select(const EdgeRows& rows, std::size_t n_hits, const TrackOptions& options) {
  return {rows, n_hits, std::max(options.min_score, 0.0F)};
}

/// Figures of the edges that the kernels count on the way.
struct EdgeFigures {
  bool are_compared = false;              ///< with the column `truth`: the counts of TrackStatus
  std::uint32_t* score_counts = nullptr;  ///< those of EdgeAuc; nullptr: they are not wanted
};

/// Joins the groups of a selected edge's hits.
struct JoinHits {
  HitGroups groups;
  SelectedEdges selected;
  EdgeFigures figures;
  TrackStatus* status;

  TENSOA_HOST_DEVICE void operator()(std::size_t e) const {
    if (!selected.rows.has(e)) return;
    const ConstView<Edge>& edges = selected.rows.edges;
    if (figures.are_compared) compare(e);
    const float score = edges.score[e];
    if (!(score >= 0 && score <= 1)) events::atomic::add(status->bad_scores, 1U);
    if (!(score >= selected.min_score)) return;
    if (!selected.reaches(e)) {
      events::atomic::lower(status->bad_edge, e);
      return;
    }
    groups.join(static_cast<std::int32_t>(edges.source[e]),
                static_cast<std::int32_t>(edges.target[e]));
  }

 private:
  TENSOA_HOST_DEVICE void compare(std::size_t e) const {
    const ConstView<Edge>& edges = selected.rows.edges;
    const bool is_true = edges.truth[e] != 0;
    const bool is_selected = edges.score[e] >= selected.min_score;
    if (is_true) events::atomic::add(status->true_edges, 1U);
    if (is_selected) events::atomic::add(status->selected, 1U);
    if (is_true && is_selected) events::atomic::add(status->true_selected, 1U);
    if (figures.score_counts == nullptr) return;
    events::atomic::add(
        figures.score_counts[(is_true ? EdgeAuc::kBins : 0) + EdgeAuc::bin_of(edges.score[e])], 1U);
  }
};

/// Finds the first hit of each hit's group, and counts there.
struct CountGroups {
  HitGroups groups;

  TENSOA_HOST_DEVICE void operator()(std::size_t row) const {
    const std::int32_t first = groups.root_of(static_cast<std::int32_t>(row));
    groups.work.first[row] = first;
    events::atomic::add(groups.work.n_hits[static_cast<std::size_t>(first)], 1);
  }
};

/// Joins the hits of edges by their scores, and finds the groups.
/// @param work, hits [n_hits]
template <class Launcher>
void join_hits(const Launcher& launch, View<GroupWork> work, View<Hit> hits, const EdgeRows& rows,
               const TrackOptions& options, TrackStatus* status, const EdgeFigures& figures = {}) {
  const SeparateHits separate{work, hits.layer.data(), status, figures.score_counts};
  launch.rows(separate.rows(), separate);
  launch.rows(rows.edges.size(),
              JoinHits{{work}, select(rows, work.size(), options), figures, status});
  launch.rows(work.size(), CountGroups{{work}});
}

}  // namespace tensoa::track
