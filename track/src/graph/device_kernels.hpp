// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "scratch.hpp"
#include "tensoa/core/queue.hpp"
#include "tensoa/track/impl/edge_search.hpp"
#include "tensoa/track/impl/hit_buckets.hpp"
#include "tensoa/track/impl/track_groups.hpp"

// The seam between an event on a device and the compiler of that device's kernels. One
// implementation of the gpu_ functions is linked in, chosen by CMake: device_kernels_cuda.cu where a
// CUDA compiler is found, device_kernels_none.cpp elsewhere. They enqueue on the queue, a CUDA one,
// and throw DeviceError.

namespace tensoa::track::detail {

/// Hits to buckets to the targets of each hit.
struct FindStep {
  View<Hit> hits;
  TargetSearch search;
  HitKey* keys;
  HitKey* sorted;
  Bucket* buckets;
  BucketPairs pairs;
  TargetSlots targets;
  GraphStatus* status;

  template <class Launcher>
  void run(const Launcher& launch) const {
    find_buckets(launch, hits, search.work, keys, sorted, buckets, search.layers, status);
    find_targets(launch, search, pairs, targets, status);
  }
};

/// The targets once more, into slots of the right size.
struct FindAgainStep {
  TargetSearch search;
  BucketPairs pairs;
  TargetSlots targets;
  GraphStatus* status;

  template <class Launcher>
  void run(const Launcher& launch) const {
    find_targets_again(launch, search, pairs, targets, status);
  }
};

/// Edges, those that were found.
struct FillStep {
  EdgeColumns columns;
  TargetSlots targets;
  const GraphStatus* status;

  template <class Launcher>
  void run(const Launcher& launch) const {
    fill_edges(launch, columns, targets, status);
  }
};

/// Scores to tracks.
struct TrackStep {
  View<GroupWork> work;
  View<Hit> hits;
  EdgeRows rows;
  TrackOptions options;
  GroupEdge* group_edges;
  std::int64_t* track_id;
  TrackStatus* status;
  EdgeFigures figures;

  template <class Launcher>
  void run(const Launcher& launch) const {
    find_tracks(launch, work, hits, rows, options, group_edges, track_id, status, figures);
  }
};

/// Whether there are kernels for GPUs in this build.
bool gpu_has_kernels() noexcept;

/// Scratch for events of up to `n_hits` hits.
std::size_t gpu_scratch_bytes(const Queue& queue, std::size_t n_hits);

void gpu_run(const Queue& queue, const events::Scratch& scratch, const FindStep& step);
void gpu_run(const Queue& queue, const events::Scratch& scratch, const FindAgainStep& step);
void gpu_run(const Queue& queue, const events::Scratch& scratch, const FillStep& step);
void gpu_run(const Queue& queue, const events::Scratch& scratch, const TrackStep& step);

}  // namespace tensoa::track::detail
