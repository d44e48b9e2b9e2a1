// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "tensoa/events/impl/arithmetic.hpp"
#include "tensoa/merge/event.hpp"
#include "tensoa/merge/impl/node_features.hpp"
#include "tensoa/track/impl/track_groups.hpp"

/// @file
/// Scored edges to merged particles as kernels.
///
/// Each fragment follows the best of its edges to a fragment of more energy, where its score is at least the
/// smallest; a merged particle is a tree of these. Groups of all such edges would join two showers by any soft
/// fragment between them.

namespace tensoa::merge {

/// Edges, and of each fragment the one that it follows.
struct BestEdges {
  ConstView<Edge> edges;
  View<Node> nodes;     ///< energy is read
  std::uint64_t* best;  ///< [n_fragments]: bits of the score, then 2^32 - 1 - edge; 0: none
  float min_score;
  const LinkStatus* links;  ///< of the event: which rows are edges

  TENSOA_HOST_DEVICE bool has(std::size_t e) const { return e < links->edges_in(edges.size()); }

  /// The fragment of less energy, of equal ones the later.
  TENSOA_HOST_DEVICE std::size_t follower(std::size_t e) const {
    const auto s = static_cast<std::size_t>(edges.source[e]);
    const auto t = static_cast<std::size_t>(edges.target[e]);
    if (nodes.energy[s] != nodes.energy[t]) return nodes.energy[s] < nodes.energy[t] ? s : t;
    return s < t ? t : s;
  }

  static constexpr std::uint64_t kLast = 0xffffffffU;
};

/// No fragment follows another.
struct ClearBest {
  BestEdges edges;

  TENSOA_HOST_DEVICE void operator()(std::size_t row) const { edges.best[row] = 0; }
};

/// Offers an edge to its fragment, and counts it.
struct FindBest {
  BestEdges best;
  track::TrackStatus* status;
  std::uint32_t* score_counts;  ///< those of EdgeAuc; nullptr: they are not wanted

  TENSOA_HOST_DEVICE void operator()(std::size_t e) const {
    using events::EdgeAuc;
    namespace atomic = events::atomic;
    if (!best.has(e)) return;
    const float score = best.edges.score[e];
    const bool is_true = best.edges.truth[e] != 0;
    const bool is_selected = score >= best.min_score;
    if (is_true) atomic::add(status->true_edges, 1U);
    if (is_selected) atomic::add(status->selected, 1U);
    if (is_true && is_selected) atomic::add(status->true_selected, 1U);
    if (score_counts != nullptr) {
      atomic::add(score_counts[(is_true ? EdgeAuc::kBins : 0) + EdgeAuc::bin_of(score)], 1U);
    }
    if (!(score >= 0 && score <= 1)) {
      atomic::add(status->bad_scores, 1U);
    } else if (is_selected) {
      const std::uint64_t bits = std::bit_cast<std::uint32_t>(score + 0.0F);
      atomic::raise(best.best[best.follower(e)], bits << 32U | (BestEdges::kLast - e));
    }
  }
};

/// Joins a fragment to the one that it follows.
struct FollowBest {
  BestEdges best;
  track::HitGroups groups;

  TENSOA_HOST_DEVICE void operator()(std::size_t row) const {
    if (best.best[row] == 0) return;
    const auto e = static_cast<std::size_t>(BestEdges::kLast - (best.best[row] & BestEdges::kLast));
    groups.join(static_cast<std::int32_t>(best.edges.source[e]),
                static_cast<std::int32_t>(best.edges.target[e]));
  }
};

/// Fills merged_id [n_fragments].
/// @param groups [n_fragments]
/// @param best of fewer than 2^32 - 1 edges
template <class Launcher>
void join_fragments(const Launcher& launch, View<track::GroupWork> groups, const BestEdges& best,
                    std::int64_t* merged_id, track::TrackStatus* status,
                    std::uint32_t* score_counts) {
  const track::SeparateHits separate{groups, nullptr, status, score_counts};
  launch.rows(separate.rows(), separate);
  launch.rows(groups.size(), ClearBest{best});
  launch.rows(best.edges.size(), FindBest{best, status, score_counts});
  launch.rows(groups.size(), FollowBest{best, {groups}});
  launch.rows(groups.size(), track::TakeGroups{{groups}});
  number_tracks(launch, groups, 1, merged_id, status);
}

}  // namespace tensoa::merge
