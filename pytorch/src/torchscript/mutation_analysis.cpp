// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "torchscript/mutation_analysis.hpp"

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "runtime/operator_effects.hpp"
#include "torchscript/value_types.hpp"

namespace tensoa::pytorch {
namespace {

namespace attr = c10::attr;
namespace prim = c10::prim;
using c10::AliasInfo;
using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Value;

bool is_tensor(const Value& value) { return value.type()->kind() == c10::TypeKind::TensorType; }

// ---- operators

/// An operator as its schema and operator_effects.hpp describe it; the same for all nodes that call it.
struct Effects : OperatorEffects {
  explicit Effects(const torch::jit::Operator& an_operator)
      : OperatorEffects(an_operator.schema()), schema(&an_operator.schema()) {
    const auto kind = an_operator.aliasAnalysisKind();
    is_pure = kind == c10::AliasAnalysisKind::PURE_FUNCTION;
    is_unknown = !is_pure && kind != c10::AliasAnalysisKind::FROM_SCHEMA;
  }

  const c10::FunctionSchema* schema;
  bool is_unknown;  ///< it may do anything to its arguments
  bool is_pure;     ///< it writes nothing, and its results are new
};

// ---- the graph

/// Where the memory of values may be found again. An edge from a to b says: memory of a may be memory
/// of b. A container counts as all that is in it. Nothing depends on the order of nodes, so whatever
/// a loop carries round is found.
class Flow {
 public:
  explicit Flow(const Graph& graph) {
    follow(*graph.block());
    for (const auto& [from, to] : edges_) {
      sources_[to].push_back(from);
      if (rebinds_) sources_[from].push_back(to);
    }
  }

  /// A value that a node writes: the memory of tensors, or what is in a container.
  struct Write {
    const Value* value;
    const Node* node;
  };
  using Found = std::unordered_set<const Value*>;

  /// All values whose memory a call may write.
  Found written() const { return tensors_of(tensors_); }

  /// The node that may change what belongs to the module; nullptr where none does.
  const Node* writer_of_state(const Value* module) const;

 private:
  void follow(const Block& block) {
    for (const Node* node : block.nodes()) follow(*node);
  }
  void follow(const Node& node);
  void follow_loop(const Node& node);
  void follow_call(const Graph& graph, at::ArrayRef<const Value*> arguments, const Node& node);
  void follow_operator(const Node& node);

  template <class From, class To>
  void connect_each(const From& from, const To& to) {
    for (std::size_t i = 0; i < to.size(); ++i) connect(from[i], to[i]);
  }
  void connect_all(const Node& node) {
    for (const Value* input : node.inputs()) connect_all(input, node);
  }
  void connect_all(const Value* from, const Node& node) {
    for (const Value* output : node.outputs()) connect(from, output);
  }
  void connect(const Value* from, const Value* to);
  void write(const Value* value, const Node& node);
  void write_anything(const Node& node) {
    for (const Value* input : node.inputs()) write(input, node);
  }

  const Effects& effects_of(const torch::jit::Operator& an_operator) {
    return effects_.try_emplace(&an_operator, an_operator).first->second;
  }

  /// All values of which a part may be in those that are written.
  Found tensors_of(const std::vector<Write>& writes) const {
    return sources_of(writes, [](const Value&) { return true; });
  }
  /// All values of which a container is among those that are rearranged, or is in one of them.
  Found containers_of(const std::vector<Write>& writes) const {
    return sources_of(writes, [](const Value& value) { return holds_container(*value.type()); });
  }
  template <class Predicate>
  Found sources_of(const std::vector<Write>& writes, Predicate is_followed) const;

  std::vector<std::pair<const Value*, const Value*>> edges_;
  bool rebinds_ = false;  ///< so that each edge counts in both directions
  std::unordered_map<const Value*, std::vector<const Value*>> sources_;
  std::vector<Write> tensors_;
  std::vector<Write> containers_;
  std::vector<const Value*> state_;  ///< constants: they belong to the module
  std::unordered_set<const Graph*> called_;
  std::unordered_map<const torch::jit::Operator*, Effects> effects_;
};

void Flow::connect(const Value* from, const Value* to) {
  if (holds_container(*from->type()) && holds_container(*to->type())) {
    edges_.emplace_back(from, to);
    edges_.emplace_back(to, from);  // what is added to one of two names of a list is in the other
  } else if (holds_tensor(*from->type()) && holds_tensor(*to->type())) {
    edges_.emplace_back(from, to);
  }
}

void Flow::write(const Value* value, const Node& node) {
  if (is_plain(*value->type())) return;
  tensors_.push_back({value, &node});
  if (holds_container(*value->type())) containers_.push_back({value, &node});
}

template <class Predicate>
Flow::Found Flow::sources_of(const std::vector<Write>& writes, Predicate is_followed) const {
  Found found;
  std::vector<const Value*> ahead;
  for (const Write& write : writes) {
    if (found.insert(write.value).second) ahead.push_back(write.value);
  }
  while (!ahead.empty()) {
    const auto next = sources_.find(ahead.back());
    ahead.pop_back();
    if (next == sources_.end()) continue;
    for (const Value* source : next->second) {
      if (is_followed(*source) && found.insert(source).second) ahead.push_back(source);
    }
  }
  return found;
}

const Node* Flow::writer_of_state(const Value* module) const {
  const auto is_changed = [&](const Found& found) {
    return found.contains(module) ||
           std::ranges::any_of(state_, [&](const Value* value) { return found.contains(value); });
  };
  // All in one call, which is enough for nearly all models; one by one where the name is needed.
  if (is_changed(tensors_of(tensors_))) {
    for (const Write& write : tensors_) {
      if (is_changed(tensors_of({write}))) return write.node;
    }
  }
  if (is_changed(containers_of(containers_))) {
    for (const Write& write : containers_) {
      if (is_changed(containers_of({write}))) return write.node;
    }
  }
  return nullptr;
}

/// The graph of the function or method that the node calls; nothing where it is known at run time
/// alone.
const Graph* callee(const Node& node) {
  const c10::TypePtr type = node.input(0)->type();
  torch::jit::Function* function = nullptr;
  if (const auto of_function = type->cast<c10::FunctionType>()) {
    function = of_function->function();
  } else if (const auto of_class = type->cast<c10::ClassType>()) {
    function = of_class->findMethod(node.s(attr::name));
  }
  if (function != nullptr) function->ensure_defined();
  return function != nullptr && function->isGraphFunction()
             ? torch::jit::toGraphFunction(*function).graph().get()
             : nullptr;
}

void Flow::follow(const Node& node) {
  switch (node.kind()) {
    case prim::Constant:
    case prim::ConstantMKLDNNTensor:
      for (const Value* output : node.outputs()) {
        if (!is_plain(*output->type())) state_.push_back(output);
      }
      return;
    case prim::If:
      for (const Block* block : node.blocks()) {
        follow(*block);
        connect_each(block->outputs(), node.outputs());
      }
      return;
    case prim::Loop:
      return follow_loop(node);
    case prim::CallFunction:
    case prim::CallMethod: {
      const Graph* graph = callee(node);
      if (graph == nullptr) return write_anything(node);
      const bool is_method = node.kind() == prim::CallMethod;
      return follow_call(*graph, node.inputs().slice(is_method ? 0 : 1), node);
    }
    case prim::DifferentiableGraph:
    case prim::FallbackGraph:
    case prim::FunctionalGraph:
    case prim::MKLDNNGroup:
    case prim::fork:
      return follow_call(*node.g(attr::Subgraph), node.inputs(), node);
    case prim::SetAttr:
      connect(node.input(1), node.input(0));
      containers_.push_back({node.input(0), &node});
      return;
    case c10::aten::wait:
    case prim::BroadcastMKLDNNTensors:
    case prim::ConstantChunk:
    case prim::DictConstruct:
    case prim::GetAttr:
    case prim::ListConstruct:
    case prim::ListUnpack:
    case prim::TupleConstruct:
    case prim::TupleIndex:
    case prim::TupleSlice:
    case prim::TupleUnpack:
    case prim::unchecked_cast:
      return connect_all(node);
    case prim::CreateObject:
    case prim::Print:
    case prim::Uninitialized:
    case prim::isinstance:
    case prim::tolist:
      return;
    default:
      return follow_operator(node);
  }
}

void Flow::follow_loop(const Node& node) {
  const Block& body = *node.blocks()[0];
  follow(body);
  const auto first = node.inputs().slice(2);    // 0 is the number of rounds, 1 whether to begin
  const auto carried = body.inputs().slice(1);  // 0 is the number of the round
  const auto next = body.outputs().slice(1);    // 0 is whether to go on
  connect_each(first, carried);
  connect_each(next, carried);
  connect_each(first, node.outputs());
  connect_each(next, node.outputs());
}

void Flow::follow_call(const Graph& graph, at::ArrayRef<const Value*> arguments, const Node& node) {
  if (called_.insert(&graph).second) follow(*graph.block());
  connect_each(arguments, graph.inputs());
  // A task gives its results together, as what will be there when it is awaited.
  for (const Value* result : graph.outputs()) connect_all(result, node);
}

void Flow::follow_operator(const Node& node) {
  const torch::jit::Operator* an_operator = node.maybeOperator();
  if (an_operator == nullptr) return write_anything(node);
  const Effects& effects = effects_of(*an_operator);
  if (effects.is_unknown) return write_anything(node);
  if (effects.is_pure) return;
  const std::vector<c10::Argument>& arguments = effects.schema->arguments();
  const auto argument_of = [&](std::size_t i) {
    return i < arguments.size() ? &arguments[i] : nullptr;  // the schema may end in "..."
  };
  rebinds_ |= effects.rebinds;

  const HiddenWrite* hidden = effects.hidden;
  if (hidden != nullptr && !hidden->condition.empty()) {
    const auto i = effects.schema->argumentIndexWithName(std::string(hidden->condition));
    if (i && torch::jit::constant_as<bool>(node.input(static_cast<std::size_t>(*i))) == false) {
      hidden = nullptr;
    }
  }
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const c10::Argument* argument = argument_of(i);
    const Value* value = node.input(i);
    const bool is_hidden = effects.writes_all || (hidden != nullptr && argument != nullptr &&
                                                  is_hidden_write(*hidden, argument->name()));
    if (!is_hidden && (argument == nullptr || !is_annotated_write(*argument))) continue;
    if (effects.is_known || is_tensor(*value)) {
      write(value, node);
    } else {
      containers_.push_back({value, &node});
      for (const Value* other : node.inputs()) connect(other, value);
    }
  }
  if (effects.rebinds) {
    for (const Value* input : node.inputs()) connect(input, node.input(0));
  }

  const std::vector<c10::Argument>& results = effects.schema->returns();
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const bool is_shared =
        (effects.shares && (i == 0 || !effects.shares_first)) || !effects.is_known;
    const AliasInfo* alias = argument_of(i) == nullptr ? nullptr : argument_of(i)->alias_info();
    for (std::size_t j = 0; j < node.outputs().size(); ++j) {
      const AliasInfo* result = j < results.size() ? results[j].alias_info() : nullptr;
      if (is_shared || may_alias(result, alias) || holds_object(*node.output(j)->type())) {
        connect(node.input(i), node.output(j));
      }
    }
  }
}

}  // namespace

MutationAnalysis::MutationAnalysis(const torch::jit::Graph& graph) {
  const Flow flow(graph);
  const auto written = flow.written();
  for (const Value* argument : graph.inputs().slice(1)) {
    to_arguments_.push_back(written.contains(argument));
  }
  if (const Node* node = flow.writer_of_state(graph.inputs()[0])) {
    state_writer_ = node->kind().toQualString();
  }
}

}  // namespace tensoa::pytorch
