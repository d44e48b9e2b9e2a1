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
namespace {

constexpr const char* kExpected =
    "; expected forward(x [n_hits, 3] float32, edge_index [2, n_edges] int64"
    "[, edge_attr [n_edges, 4] float32]) -> scores in [0, 1], float32 [n_edges] or [n_edges, 1]";

bool takes_edge_columns(const Model<>& model, Device device) {
  const Signature& signature = model.deploy(device);
  const std::size_t arguments = signature.inputs.size();
  if (signature.required_inputs <= 3 && arguments >= 2) return arguments >= 3;
  throw LoadError("model " + model.location().text() + ": forward takes " +
                  std::to_string(arguments) + (arguments == 1 ? " tensor" : " tensors") +
                  kExpected);
}

}  // namespace

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
    : model_(std::move(model)),
      queue_(queue),
      takes_edge_columns_(takes_edge_columns(model_, queue.device())),
      device_hits_(0, queue.device()),
      device_edges_(0, queue.device()) {
  warm_up();
}

void EdgeScorer::warm_up() {
  Event event = detail::example_event();
  GraphBuilder builder;
  PortableCollection<Edge>& edges = builder.build(event.hits.view());
  try {
    plan_ = model_.plan(bind_edge_network(takes_edge_columns_, device_hits_.const_view(),
                                          device_edges_.const_view(), device_edges_.view()));
    model_.warm_up(queue_, *plan_, event.hits.size(), edges.size(), edges.size());
    score(event.hits, edges);  // zeros do not show what scores a model gives
  } catch (const BindingError& error) {
    throw LoadError(std::string(error.what()) + kExpected);
  } catch (const EngineError& error) {
    throw LoadError(std::string(error.what()) + kExpected);
  }
}

CopyReport EdgeScorer::enqueue(const PortableCollection<Hit>& hits,
                               PortableCollection<Edge>& edges) {
  plan_->rebind(hits.const_view(), edges.const_view(), edges.view());
  return model_.forward(queue_, *plan_);
}

ScoreReport EdgeScorer::score(const PortableCollection<Hit>& hits,
                              PortableCollection<Edge>& edges) {
  ScoreReport report;
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
  if (bad == 0) return;
  throw EngineError("model " + model_.location().text() + ": " + std::to_string(bad) + " of " +
                    std::to_string(n_edges) + " scores are outside [0, 1]");
}

}  // namespace tensoa::track
