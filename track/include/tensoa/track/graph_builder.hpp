// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensoa/track/event.hpp"
#include "tensoa/track/graph_cuts.hpp"
#include "tensoa/track/graph_kernels.hpp"

namespace tensoa::track {

/// Finds the candidate edges of an event on the CPU, in the calling thread.
///
/// By the kernels of graph_kernels.hpp, as DeviceEvent does it on a GPU, with equal edges to the
/// bit; but pairs of buckets that no pair of hits can pass are dropped once per event, and edges are
/// written as they are found. All decisions are made in float64 from the float32 coordinates.
///
/// *Ownership*: the builder owns the edges and its workspace; both only grow, so that nothing is
/// allocated once the largest event has been seen. *Threads*: one builder per thread.
class GraphBuilder {
 public:
  /// @throws ConfigError when a cut is negative or not finite.
  explicit GraphBuilder(const GraphCuts& cuts = {});

  /// Fills the columns r_scaled, phi_scaled and z_scaled of `hits` and the edges of the event, in
  /// ascending order of (source, target); their `score` is left as it is. No hits or no pair that
  /// passes: no edges.
  /// @param hits [n_hits], x, y, z in mm, layer and particle_id are read.
  /// @return the edges, valid until the next call.
  /// @throws InputError when a coordinate is NaN or infinite.
  PortableCollection<Edge>& build(View<Hit> hits);

  /// The edges of the last build().
  const PortableCollection<Edge>& edges() const noexcept { return edges_; }

 private:
  void pair_buckets(const TargetSearch& search, std::size_t n_buckets);
  void find_targets(const TargetSearch& search);
  void fill_edge_columns(View<Hit> hits);

  GraphCuts cuts_;
  PortableCollection<Edge> edges_{0, Device::cpu()};

  PortableCollection<HitWork> work_{0, Device::cpu()};
  std::vector<HitKey> keys_;
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> pairs_begin_;  // [n_buckets + 1], into pairs_
  std::vector<std::int32_t> pairs_;       // target buckets, grouped by source bucket
  std::vector<std::size_t> begin_;        // [n_hits + 1], by row: into targets_
  std::vector<std::int32_t> targets_;     // rows, grouped by source row
};

}  // namespace tensoa::track
