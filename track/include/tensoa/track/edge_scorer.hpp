// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "tensoa/engine/model.hpp"
#include "tensoa/events/edge_scorer.hpp"
#include "tensoa/events/run_figures.hpp"
#include "tensoa/track/event.hpp"

namespace tensoa::track {

/// The blocks of an edge-classifying network: `x`, `edge_index`, and `edge_attr` where it
/// has edge columns; see EdgeScorer.
/// @param scores the edges whose column `score` gets the answer; may be those of `edges`
ModelMetadata<Hit, Edge, Edge> bind_edge_network(bool takes_edge_columns, ConstView<Hit> hits,
                                                 ConstView<Edge> edges, View<Edge> scores);

/// The network of hits, for events::EdgeScorer.
struct HitNetwork {
  static std::string expected();
  static bool accepts(std::size_t required, std::size_t arguments);
  static ModelMetadata<Hit, Edge, Edge> bind(std::size_t arguments, ConstView<Hit> hits,
                                             ConstView<Edge> edges, View<Edge> scores);
};

/// Runs an edge-classifying network on the columns of hits and edges, where they lie.
///
/// The network reads `x` [n_hits, 3] float32 (r_scaled, phi_scaled, z_scaled), `edge_index` [2,
/// n_edges] int64 (source, target), and, where it has a third argument, `edge_attr` [n_edges, 4]
/// float32 (dr, dphi, dz, dR). It returns one score in [0, 1] for each edge, float32 [n_edges] or
/// [n_edges, 1], which lands in the column `score`.
///
/// On a CUDA queue the columns go up once and the scores come down once.
/// *Threads*: one scorer per thread; the model is shared.
class EdgeScorer {
 public:
  /// Warms the model up on the queue (Model::warm_up) and runs it on an event of four hits, so that
  /// a model that does not fit is found before real events come.
  /// @throws LoadError when the model does not accept the arguments above, fails on them or returns
  /// another answer; DeviceError
  EdgeScorer(Model<> model, const Queue& queue);

  /// Fills `edges.score`; waits for the queue. An event without edges runs nothing.
  /// @throws BindingError when the model's answer is of another shape or dtype; EngineError when it
  /// fails or returns a score outside [0, 1]
  events::ScoreReport score(const PortableCollection<Hit>& hits, PortableCollection<Edge>& edges);

  /// Enqueues the network on columns that lie on the queue's device already, as a DeviceEvent has
  /// them; nothing is moved, nothing waits. The scores are not checked: require_scores().
  /// @param edges not empty
  /// @throws BindingError, EngineError as score()
  CopyReport enqueue(const PortableCollection<Hit>& hits, PortableCollection<Edge>& edges);

  /// @throws EngineError when `bad` of `n_edges` scores are outside [0, 1]
  void require_scores(std::size_t bad, std::size_t n_edges) const;

 private:
  using Network = events::EdgeScorer<Hit, Edge, HitNetwork>;

  Queue queue_;
  std::optional<Network> network_;
  PortableCollection<Hit> device_hits_;
  PortableCollection<Edge> device_edges_;
};

}  // namespace tensoa::track
