// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "tensoa/core/error.hpp"
#include "tensoa/engine/model.hpp"

namespace tensoa::events {

/// Runs a network that scores edges on the columns of nodes and edges, where they lie.
///
/// `Network` of an application describes what its network reads and writes:
///
///     struct Network {
///       static std::string expected();   // of forward, for messages: "forward(x [n, 3] float32, …) -> …"
///       static bool accepts(std::size_t required, std::size_t arguments);  // tensors of forward
///       static ModelMetadata<Node, Edge, Edge> bind(std::size_t arguments, ConstView<Node>, ConstView<Edge>, View<Edge> scores);
///     };
///
/// *Threads*: one scorer per thread; the model is shared.
template <template <template <class> class> class Node,
          template <template <class> class> class Edge, class Network>
class EdgeScorer {
 public:
  /// Warms the model up on the queue (Model::warm_up) and runs it on nodes and edges of an example, so that a model that
  /// does not fit is found before real events come.
  /// @param nodes, edges on the device of the queue, with features
  /// @throws LoadError when the model does not have the arguments of Network, fails on them or returns scores
  /// that are not in [0, 1]
  EdgeScorer(Model<> model, const Queue& queue, const PortableCollection<Node>& nodes,
             PortableCollection<Edge>& edges)
      : model_(std::move(model)), queue_(queue) {
    const Signature& signature = model_.deploy(queue.device());
    const std::size_t arguments = signature.inputs.size();
    if (!Network::accepts(signature.required_inputs, arguments)) {
      throw LoadError("model " + model_.location().text() + ": forward takes " +
                      std::to_string(arguments) + (arguments == 1 ? " tensor" : " tensors") +
                      expected());
    }
    try {
      plan_ = model_.plan(
          Network::bind(arguments, nodes.const_view(), edges.const_view(), edges.view()));
      model_.warm_up(queue_, *plan_, nodes.size(), edges.size(), edges.size());
      enqueue(nodes, edges);
      queue_.wait();
    } catch (const BindingError& error) {
      throw LoadError(error.what() + expected());
    } catch (const EngineError& error) {
      throw LoadError(error.what() + expected());
    }
  }

  /// Fills the column `score` of the edges, in the order of the queue. @throws BindingError, EngineError, DeviceError
  CopyReport enqueue(const PortableCollection<Node>& nodes, PortableCollection<Edge>& edges) {
    plan_->rebind(nodes.const_view(), edges.const_view(), edges.view());
    return model_.forward(queue_, *plan_);
  }

  /// @throws EngineError when `bad` of `n_edges` scores are outside [0, 1]
  void require_scores(std::size_t bad, std::size_t n_edges) const {
    if (bad == 0) return;
    throw EngineError("model " + model_.location().text() + ": " + std::to_string(bad) + " of " +
                      std::to_string(n_edges) + " scores are outside [0, 1]");
  }

  /// "; expected forward(…)"
  static std::string expected() { return "; expected " + Network::expected(); }

 private:
  Model<> model_;
  Queue queue_;
  std::optional<Plan<Node, Edge, Edge>> plan_;
};

}  // namespace tensoa::events
