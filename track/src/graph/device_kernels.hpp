// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensoa/core/queue.hpp"
#include "tensoa/track/impl/edge_search.hpp"
#include "tensoa/track/impl/hit_buckets.hpp"
#include "tensoa/track/impl/hit_groups.hpp"

// The seam between an event on a device and the compiler of that device's kernels. One
// implementation of the gpu_ functions is linked in, chosen by CMake: device_kernels_cuda.cu where a
// CUDA compiler is found, device_kernels_none.cpp elsewhere. They enqueue on the queue, a CUDA one,
// and throw DeviceError.

namespace tensoa::track::detail {

/// Hits to buckets to the number of edges.
struct CountStep {
  View<Hit> hits;
  LaneSearch lanes;
  HitKey* keys;
  Bucket* buckets;
  std::int64_t* ends;
  GraphStatus* status;

  template <class Launcher>
  void run(const Launcher& launch) const {
    find_buckets(launch, hits, lanes.search.work, keys, buckets, status);
    count_edges(launch, lanes, ends, status);
  }
};

/// Edges, those that were counted.
struct FillStep {
  LaneSearch lanes;
  EdgeColumns columns;
  View<FoundEdge> found;
  const std::int64_t* ends;
  View<Hit> nodes;  ///< of the network: the hits, and perhaps rows that are none

  template <class Launcher>
  void run(const Launcher& launch) const {
    const std::size_t n_hits = columns.hits.size();
    launch.rows(nodes.size() - n_hits, ClearNode{nodes, n_hits});
    fill_edges(launch, lanes, columns, found, ends);
  }
};

/// Scores to tracks.
struct TrackStep {
  View<GroupWork> work;
  EdgeRows rows;
  TrackOptions options;
  std::int64_t* track_id;
  TrackStatus* status;

  template <class Launcher>
  void run(const Launcher& launch) const {
    find_tracks(launch, work, rows, options, track_id, status);
    launch.rows(rows.edges.size(), CompareEdges{rows, options.min_score, status});
  }
};

/// Device memory that sorts and sums use. For one step at a time.
struct Scratch {
  std::byte* data;
  std::size_t bytes;
};

/// Whether there are kernels for GPUs in this build.
bool gpu_has_kernels() noexcept;

/// Scratch for events of up to `n_hits` hits.
std::size_t gpu_scratch_bytes(const Queue& queue, std::size_t n_hits);

void gpu_run(const Queue& queue, const Scratch& scratch, const CountStep& step);
void gpu_run(const Queue& queue, const Scratch& scratch, const FillStep& step);
void gpu_run(const Queue& queue, const Scratch& scratch, const TrackStep& step);

}  // namespace tensoa::track::detail
