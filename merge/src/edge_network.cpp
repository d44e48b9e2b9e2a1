// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/merge/edge_network.hpp"

namespace tensoa::merge {

std::string EdgeNetwork::expected() {
  return "forward(x [n, 29] float32, edge_index [2, E] int64, edge_attr [E, 7] float32) -> "
         "scores [E] in [0, 1]";
}

bool EdgeNetwork::accepts(std::size_t required, std::size_t arguments) {
  return required <= 3 && arguments >= 3;
}

ModelMetadata<Node, Edge, Edge> EdgeNetwork::bind(std::size_t, ConstView<Node> nodes,
                                                  ConstView<Edge> edges, View<Edge> scores) {
  const auto f = nodes.records();
  const auto edge = edges.records();
  SoAMetadata<Node, Edge> inputs(nodes.size(), edges.size());
  inputs.append_block("x", f.x(), f.y(), f.z(), f.eta(), f.phi(), f.axis_x(), f.axis_y(),
                      f.axis_z(), f.variance_1(), f.variance_2(), f.variance_3(), f.sigma_1(),
                      f.sigma_2(), f.sigma_3(), f.clusters(), f.cells(), f.energy(), f.em_energy(),
                      f.first_layer(), f.last_layer(), f.peak_layer(), f.peak_part(), f.core_part(),
                      f.mean_radius(), f.z_min(), f.z_max(), f.cluster_density(),
                      f.fragment_density(), f.time());
  inputs.append_block(BlockShape::kColumns, "edge_index", edge.source(), edge.target());
  inputs.append_block("edge_attr", edge.energy_difference(), edge.dz(), edge.transverse(),
                      edge.nearest(), edge.farthest(), edge.time_difference(), edge.cosine());
  SoAMetadata<Edge> outputs(scores.size());
  outputs.append_block("score", scores.records().score());
  return ModelMetadata(inputs, outputs);
}

}  // namespace tensoa::merge
