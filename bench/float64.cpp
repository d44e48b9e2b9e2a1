// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/float64.hpp"

#include <algorithm>
#include <cmath>

namespace tensoa::bench {
namespace {

using track::Edge;
using track::Hit;

/// The columns that the network reads and writes, in float64.
template <template <class> class F>
struct Hit64 {
  F<double> r_scaled, phi_scaled, z_scaled;
};
template <template <class> class F>
struct Edge64 {
  F<std::int64_t> source, target;
  F<double> dr, dphi, dz, dR;
  F<double> score;
};

}  // namespace

std::vector<double> scores_in_float64(const Model<>& model, ConstView<Hit> hits,
                                      ConstView<Edge> edges) {
  PortableCollection<Hit64> hits64(hits.size(), Device::cpu());
  PortableCollection<Edge64> edges64(edges.size(), Device::cpu());
  const View<Hit64> hit = hits64.view();
  for (std::size_t i = 0; i < hits.size(); ++i) {
    hit.r_scaled[i] = hits.r_scaled[i];
    hit.phi_scaled[i] = hits.phi_scaled[i];
    hit.z_scaled[i] = hits.z_scaled[i];
  }
  const View<Edge64> edge = edges64.view();
  for (std::size_t i = 0; i < edges.size(); ++i) {
    edge.source[i] = edges.source[i];
    edge.target[i] = edges.target[i];
    edge.dr[i] = edges.dr[i];
    edge.dphi[i] = edges.dphi[i];
    edge.dz[i] = edges.dz[i];
    edge.dR[i] = edges.dR[i];
  }
  const auto h = hit.records();
  const auto e = edge.records();
  SoAMetadata<Hit64, Edge64> inputs(hits.size(), edges.size());
  inputs.append_block("x", h.r_scaled(), h.phi_scaled(), h.z_scaled());
  inputs.append_block(BlockShape::kColumns, "edge_index", e.source(), e.target());
  if (model.deploy(Device::cpu()).inputs.size() >= 3) {
    inputs.append_block("edge_attr", e.dr(), e.dphi(), e.dz(), e.dR());
  }
  SoAMetadata<Edge64> outputs(edges.size());
  outputs.append_block("score", e.score());
  model.forward(Queue(Device::cpu()), model.plan(ModelMetadata(inputs, outputs)));
  return {edge.score.data(), edge.score.data() + edges.size()};
}

Errors errors_of(std::span<const float> numbers, std::span<const double> reference) {
  Errors errors;
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double distance = numbers[i] - reference[i];
    errors.max_abs = std::max(errors.max_abs, std::abs(distance));
    difference += distance * distance;
    norm += reference[i] * reference[i];
    errors.flips += (numbers[i] >= 0.5F) != (reference[i] >= 0.5) ? 1 : 0;
  }
  errors.relative = std::sqrt(difference / norm);
  return errors;
}

}  // namespace tensoa::bench
