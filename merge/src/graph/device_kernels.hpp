// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <variant>

#include "scratch.hpp"
#include "tensoa/core/queue.hpp"
#include "tensoa/merge/impl/join_fragments.hpp"
#include "tensoa/merge/impl/link_search.hpp"

// The seam between an event on a device and the compiler of that device's kernels, as that of track: one
// implementation of the gpu_ functions is linked in, chosen by CMake.

namespace tensoa::merge::detail {

/// Clusters to the number of edges.
struct FindStep {
  LinkSearch search;

  template <class Launcher>
  void run(const Launcher& launch) const {
    find_links(launch, search);
  }
};

/// Edges, those that were counted.
struct FillStep {
  LinkSearch search;
  View<Edge> edges;
  View<Node> nodes;  ///< of the network: the fragments, and perhaps a row that is none

  template <class Launcher>
  void run(const Launcher& launch) const {
    const std::size_t n = search.nodes.size();
    launch.rows(nodes.size() - n, ClearNodes{nodes, n});
    fill_links(launch, search, edges);
  }
};

/// Scores to merged particles.
struct JoinStep {
  View<track::GroupWork> groups;
  BestEdges best;
  std::int64_t* merged_id;
  track::TrackStatus* status;
  std::uint32_t* score_counts;  ///< of EdgeAuc, or nullptr

  template <class Launcher>
  void run(const Launcher& launch) const {
    join_fragments(launch, groups, best, merged_id, status, score_counts);
  }
};

using Step = std::variant<FindStep, FillStep, JoinStep>;

/// Whether there are kernels for GPUs in this build.
bool gpu_has_kernels() noexcept;

/// Scratch for events of up to `n` fragments.
std::size_t gpu_scratch_bytes(const Queue& queue, std::size_t n);

void gpu_run(const Queue& queue, const events::Scratch& scratch, const Step& step);

}  // namespace tensoa::merge::detail
