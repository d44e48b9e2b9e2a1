// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "writes.hpp"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace tensoa::pytorch {
namespace {

using torch::jit::Node;
using torch::jit::Value;

bool is_tensor(const Value* value) { return value->type()->isSubtypeOf(*c10::TensorType::get()); }

/// Operators that are made of others, and whose results are new tensors all the same: those after
/// which networks write in place. A name that is missing here costs a copy, no more.
bool is_fresh(std::string_view name) {
  constexpr std::string_view kFresh[] = {
      "aten::adaptive_avg_pool1d",
      "aten::adaptive_avg_pool2d",
      "aten::adaptive_avg_pool3d",
      "aten::avg_pool1d",
      "aten::batch_norm",
      "aten::bilinear",
      "aten::conv1d",
      "aten::conv2d",
      "aten::conv3d",
      "aten::conv_transpose1d",
      "aten::conv_transpose2d",
      "aten::conv_transpose3d",
      "aten::group_norm",
      "aten::gru",
      "aten::instance_norm",
      "aten::layer_norm",
      "aten::linear",
      "aten::log_softmax",
      "aten::lstm",
      "aten::matmul",
      "aten::max_pool1d",
      "aten::max_pool2d",
      "aten::max_pool3d",
      "aten::rms_norm",
      "aten::scaled_dot_product_attention",
      "aten::softmax",
      "aten::square",
      "aten::where",
  };
  return std::ranges::find(kFresh, name) != std::ranges::end(kFresh);
}

/// Operators of their own that share memory and do not say so; set_ says that it writes its first
/// argument, and not that this is the second from then on.
bool is_known_to_share(std::string_view name) {
  constexpr std::string_view kShare[] = {
      "aten::_unsafe_view", "aten::dequantize",
      "aten::lift",         "aten::set",
      "aten::set_",         "aten::set_data",
      "aten::unsafe_split", "aten::unsafe_split_with_sizes",
      "prim::fork",
  };
  return std::ranges::find(kShare, name) != std::ranges::end(kShare);
}

/// Whether results of a node may lie in its arguments without its schema saying so. Operators that
/// are made of others do that where nothing is left to do: conversion to the same type, dropout in
/// evaluation, an einsum that transposes. (Schemas of all others are checked by torch's own tests.)
bool may_share_silently(const Node& node) {
  const std::string_view name = node.kind().toQualString();
  if (is_known_to_share(name)) return true;
  const c10::FunctionSchema* schema = node.maybeSchema();
  if (schema == nullptr || is_fresh(name)) return false;
  const auto& returns = schema->returns();
  if (std::ranges::any_of(returns,
                          [](const auto& result) { return result.alias_info() != nullptr; }))
    return false;
  const auto known =
      c10::Dispatcher::singleton().findSchema({schema->name(), schema->overload_name()});
  return known && known->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
}

/// The tensors that a node may give back, those in lists too: alias analysis does not follow lists
/// that are made for one operator.
std::vector<Value*> arguments_of(Node& node) {
  std::vector<Value*> arguments;
  const std::string_view name = node.kind().toQualString();
  const bool is_of_first = name == "aten::type_as" || name == "aten::align_as";
  for (Value* input : is_of_first ? node.inputs().slice(0, 1) : node.inputs()) {
    arguments.push_back(input);
    if (input->node()->kind() != c10::prim::ListConstruct) continue;
    const std::vector<Value*> members = arguments_of(*input->node());
    arguments.insert(arguments.end(), members.begin(), members.end());
  }
  return arguments;
}

}  // namespace

Writes::Writes(torch::jit::Graph& graph) : graph_(graph.copy()) {
  torch::jit::WithInsertPoint at_the_start(*graph_->nodes().begin());
  for (Value* input : graph_->inputs().slice(1)) {  // 0 is the module itself
    Value* clone = input;
    if (is_tensor(input)) {
      clone = graph_->insert(c10::aten::clone, {input});
      input->replaceAllUsesAfterNodeWith(clone->node(), clone);
    }
    clones_.push_back(clone);
  }
  aliases_ = std::make_unique<const torch::jit::AliasDb>(graph_, /*isFrozen=*/true);
  find_suspects(*graph_->block());
  const auto is_safe = [this](const Suspect& suspect) {
    return std::ranges::none_of(suspect.node->outputs(), [&](Value* result) {
      return is_tensor(result) ? reach(result) : reach_any_list();
    });
  };
  // An argument of one leak may be the result of another suspect.
  for (std::size_t before = 0; before != suspects_.size();) {
    before = suspects_.size();
    const auto found = std::ranges::partition(suspects_, is_safe);
    leaks_.insert(leaks_.end(), found.begin(), found.end());
    suspects_.erase(found.begin(), found.end());
  }
}

void Writes::find_suspects(torch::jit::Block& block) {
  for (Node* node : block.nodes()) {
    if (may_share_silently(*node)) suspects_.push_back({node, arguments_of(*node)});
    for (torch::jit::Block* inner : node->blocks()) find_suspects(*inner);
  }
}

bool Writes::reach(Value* value) const {
  return aliases_->hasWriters(value) || std::ranges::any_of(leaks_, [&](const Suspect& leak) {
           return std::ranges::any_of(leak.arguments, [&](Value* argument) {
             return aliases_->mayContainAlias(argument, value);
           });
         });
}

/// Alias analysis has one place for what is in lists and for the inputs (of which only the clones
/// are read here).
bool Writes::reach_any_list() const {
  return graph_->inputs().size() < 2 || reach(graph_->inputs()[1]);
}

std::vector<bool> Writes::to_arguments() const {
  std::vector<bool> written;
  written.reserve(clones_.size());
  for (Value* clone : clones_) written.push_back(reach(clone));
  return written;
}

bool Writes::keep_state(torch::jit::Block& block) const {
  for (Node* node : block.nodes()) {
    if (node->kind() == c10::prim::SetAttr) return true;
    const bool is_of_module = node->kind() == c10::prim::GetAttr ||
                              (node->kind() == c10::prim::Constant && is_tensor(node->output()));
    if (is_of_module && reach(node->output())) return true;
    if (std::ranges::any_of(node->blocks(), [this](auto* inner) { return keep_state(*inner); })) {
      return true;
    }
  }
  return false;
}

}  // namespace tensoa::pytorch
