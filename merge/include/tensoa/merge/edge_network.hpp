// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "tensoa/engine/model.hpp"
#include "tensoa/events/edge_scorer.hpp"
#include "tensoa/merge/event.hpp"

namespace tensoa::merge {

/// The blocks of the network: `x` [n_fragments, 29] float32, the columns of Node; `edge_index` [2, n_edges]
/// int64 (source, target); `edge_attr` [n_edges, 7] float32, the features of Edge. It returns one score in [0, 1] for
/// each edge, float32 [n_edges] or [n_edges, 1], which lands in the column `score`.
struct EdgeNetwork {
  static std::string expected();
  static bool accepts(std::size_t required, std::size_t arguments);
  /// @param scores the edges whose column `score` gets the answer; may be those of `edges`
  static ModelMetadata<Node, Edge, Edge> bind(std::size_t arguments, ConstView<Node> nodes,
                                              ConstView<Edge> edges, View<Edge> scores);
};

using EdgeScorer = events::EdgeScorer<Node, Edge, EdgeNetwork>;

}  // namespace tensoa::merge
