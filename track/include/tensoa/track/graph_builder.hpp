// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "tensoa/track/event.hpp"
#include "tensoa/track/graph_rules.hpp"

namespace tensoa::track {

/// Finds the candidate edges of an event on the CPU, in the calling thread.
///
/// By the kernels that DeviceEvent runs on a GPU (impl/edge_search.hpp), with equal edges to the
/// bit; but pairs of buckets that no pair of hits can pass are dropped once per event, and edges are
/// written as they are found. Cuts are decided in float64 from the float32 coordinates, the filter in float32.
///
/// *Ownership*: the builder owns the edges and its workspace; both only grow, so that nothing is
/// allocated once the largest event has been seen. Move-only. What was moved from may only be
/// destroyed or assigned to. *Threads*: one builder per thread.
class GraphBuilder {
 public:
  /// @throws ConfigError as require_rules()
  explicit GraphBuilder(const GraphRules& rules = {});
  ~GraphBuilder();
  GraphBuilder(GraphBuilder&&) noexcept;
  GraphBuilder& operator=(GraphBuilder&&) noexcept;

  /// Fills the columns r_scaled, phi_scaled and z_scaled of `hits` and the edges of the event, in
  /// ascending order of (source, target); their `score` is left as it is. No hits or no pair that
  /// passes: no edges.
  /// @param hits [n_hits], x, y, z in mm, layer and particle_id are read.
  /// @return the edges, valid until the next call.
  /// @throws InputError when a coordinate is NaN or infinite; when a hit lies on a layer that the layer
  /// map does not name.
  PortableCollection<Edge>& build(View<Hit> hits);

  /// The edges of the last build().
  const PortableCollection<Edge>& edges() const noexcept { return edges_; }

 private:
  struct Workspace;

  PortableCollection<Edge> edges_{0, Device::cpu()};
  std::unique_ptr<Workspace> work_;
};

}  // namespace tensoa::track
