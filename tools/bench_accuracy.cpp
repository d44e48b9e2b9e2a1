// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "bench.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/track/edge_scorer.hpp"
#include "tensoa/track/event_source.hpp"
#include "tensoa/track/graph_builder.hpp"

namespace tensoa::tools {
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

/// The scores of the same weights and the same columns, all arithmetic in float64 on the CPU.
std::vector<double> reference_scores(const Model<>& model, ConstView<Hit> hits,
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
  model.forward(Queue(Device::cpu()), Plan(ModelMetadata(inputs, outputs)));
  return {edge.score.data(), edge.score.data() + edges.size()};
}

ResultRow compare(ConstView<Edge> edges, const std::vector<double>& reference, Device device) {
  double max_abs = 0;
  double difference = 0;
  double norm = 0;
  std::size_t flips = 0;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const double score = edges.score[i];
    max_abs = std::max(max_abs, std::abs(score - reference[i]));
    difference += (score - reference[i]) * (score - reference[i]);
    norm += reference[i] * reference[i];
    flips += (score >= 0.5) != (reference[i] >= 0.5) ? 1 : 0;
  }
  ResultRow row;
  row.variant = "jit";
  row.device = to_string(device);
  row.n = edges.size();
  row.max_abs_error = max_abs;
  row.max_rel_error = std::sqrt(difference / norm);
  row.flips = flips;
  return row;
}

}  // namespace

std::vector<ResultRow> bench_accuracy(const BenchOptions& options) {
  std::vector<Device> devices{Device::cpu()};
  if (const Device device = parse_device(options.device); !device.is_cpu())
    devices.push_back(device);
  const Model<> model(options.model);
  const Model<> model64(options.model, {.dtype = DType::kF64});
  std::vector<track::EdgeScorer> scorers;
  scorers.reserve(devices.size());
  for (const Device device : devices) scorers.emplace_back(model, Queue(device));

  std::vector<ResultRow> rows;
  track::GraphBuilder builder;
  for (const track::EventSource& source : track::find_events(options.inputs)) {
    track::Event event = source.read();
    PortableCollection<Edge>& edges = builder.build(event.hits.view());
    if (edges.size() == 0) continue;
    const std::vector<double> reference =
        reference_scores(model64, event.hits.const_view(), edges.const_view());
    for (std::size_t i = 0; i < devices.size(); ++i) {
      scorers[i].score(event.hits, edges);
      rows.push_back(compare(edges.const_view(), reference, devices[i]));
    }
  }
  if (rows.empty())
    throw InputError("bench accuracy: no event has candidate edges; nothing to compare");
  return rows;
}

}  // namespace tensoa::tools
