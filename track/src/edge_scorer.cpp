// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/edge_scorer.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "example_event.hpp"
#include "grow.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/track/graph_builder.hpp"

namespace tensoa::track {

std::string HitNetwork::expected() {
  return "forward(x [n_hits, 3] float32, edge_index [2, n_edges] int64[, edge_attr [n_edges, 4] "
         "float32]) "
         "-> scores in [0, 1], float32 [n_edges] or [n_edges, 1]";
}

bool HitNetwork::accepts(std::size_t required, std::size_t arguments) {
  return required <= 3 && arguments >= 2;
}

ModelMetadata<Hit, Edge, Edge> HitNetwork::bind(std::size_t arguments, ConstView<Hit> hits,
                                                ConstView<Edge> edges, View<Edge> scores) {
  return bind_edge_network(arguments >= 3, hits, edges, scores);
}

ModelMetadata<Hit, Edge, Edge> bind_edge_network(bool takes_edge_columns, ConstView<Hit> hits,
                                                 ConstView<Edge> edges, View<Edge> scores) {
  const auto hit = hits.records();
  const auto edge = edges.records();
  SoAMetadata<Hit, Edge> inputs(hits.size(), edges.size());
  inputs.append_block("x", hit.r_scaled(), hit.phi_scaled(), hit.z_scaled());
  inputs.append_block(BlockShape::kColumns, "edge_index", edge.source(), edge.target());
  if (takes_edge_columns)
    inputs.append_block("edge_attr", edge.dr(), edge.dphi(), edge.dz(), edge.dR());
  SoAMetadata<Edge> outputs(scores.size());
  outputs.append_block("score", scores.records().score());
  return ModelMetadata(inputs, outputs);
}

EdgeScorer::EdgeScorer(Model<> model, const Queue& queue)
    : queue_(queue), device_hits_(0, queue.device()), device_edges_(0, queue.device()) {
  Event event = detail::example_event();
  GraphBuilder builder;
  PortableCollection<Edge>& edges = builder.build(event.hits.view());
  if (queue.device().is_cpu()) {
    network_.emplace(std::move(model), queue, event.hits, edges);
  } else {
    events::make_room(device_hits_, event.hits.size());
    events::make_room(device_edges_, edges.size());
    copy(queue, event.hits, device_hits_);
    copy(queue, edges, device_edges_);
    network_.emplace(std::move(model), queue, device_hits_, device_edges_);
  }
  try {
    score(event.hits, edges);  // what was run shows that scores come, not which
  } catch (const EngineError& error) {
    throw LoadError(error.what() + Network::expected());
  }
}

CopyReport EdgeScorer::enqueue(const PortableCollection<Hit>& hits,
                               PortableCollection<Edge>& edges) {
  return network_->enqueue(hits, edges);
}

events::ScoreReport EdgeScorer::score(const PortableCollection<Hit>& hits,
                                      PortableCollection<Edge>& edges) {
  events::ScoreReport report;
  if (edges.size() == 0) return report;
  if (queue_.device().is_cpu()) {
    report.copies = enqueue(hits, edges);
  } else {
    events::make_room(device_hits_, hits.size());
    events::make_room(device_edges_, edges.size());
    report.bytes_to_device = copy(queue_, hits, device_hits_) + copy(queue_, edges, device_edges_);
    report.copies = enqueue(device_hits_, device_edges_);
    report.bytes_to_host = edges.size() * sizeof(float);
    copy_bytes(queue_, edges.view().score.data(), Device::cpu(), device_edges_.view().score.data(),
               queue_.device(), report.bytes_to_host);
    queue_.wait();
  }
  const float* scores = edges.view().score.data();
  const auto bad = std::count_if(scores, scores + edges.size(),
                                 [](float score) { return !(score >= 0 && score <= 1); });
  require_scores(static_cast<std::size_t>(bad), edges.size());
  return report;
}

void EdgeScorer::require_scores(std::size_t bad, std::size_t n_edges) const {
  network_->require_scores(bad, n_edges);
}

}  // namespace tensoa::track
