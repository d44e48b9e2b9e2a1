// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "tensoa/track/event.hpp"

namespace tensoa::track {

/// What a pair of hits must fulfil to be a candidate edge. The source is the hit of smaller r;
/// differences are target - source. Both hits must lie on different layers (0 = unknown always
/// passes).
struct GraphCuts {
  double min_dr = 2.0;             ///< mm, dr at least
  double max_dphi = 0.3;           ///< rad, |dphi| at most
  double max_dphi_per_dr = 0.002;  ///< rad/mm, |dphi| / dr at most
  double max_distance = 500.0;     ///< mm, distance in space at most
  double max_z0 = 150.0;           ///< mm, |z0| at most, z0 = z - r * dz / dr of the source
};

/// @throws ConfigError when a cut is negative or not finite.
void require_cuts(const GraphCuts& cuts);

/// Finds the candidate edges of an event on the CPU, in the calling thread.
///
/// By the kernels that DeviceEvent runs on a GPU (impl/edge_search.hpp), with equal edges to the
/// bit; but pairs of buckets that no pair of hits can pass are dropped once per event, and edges are
/// written as they are found. All decisions are made in float64 from the float32 coordinates.
///
/// *Ownership*: the builder owns the edges and its workspace; both only grow, so that nothing is
/// allocated once the largest event has been seen. Move-only. What was moved from may only be
/// destroyed or assigned to. *Threads*: one builder per thread.
class GraphBuilder {
 public:
  /// @throws ConfigError when a cut is negative or not finite.
  explicit GraphBuilder(const GraphCuts& cuts = {});
  ~GraphBuilder();
  GraphBuilder(GraphBuilder&&) noexcept;
  GraphBuilder& operator=(GraphBuilder&&) noexcept;

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
  struct Workspace;

  GraphCuts cuts_;
  PortableCollection<Edge> edges_{0, Device::cpu()};
  std::unique_ptr<Workspace> work_;
};

}  // namespace tensoa::track
