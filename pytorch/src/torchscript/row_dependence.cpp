// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "torchscript/row_dependence.hpp"

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <unordered_map>
#include <utility>

#include "row_dependence/trace.hpp"
#include "runtime/tensors.hpp"

namespace tensoa::pytorch {
namespace {

namespace attr = c10::attr;
namespace prim = c10::prim;
using rows::Known;
using rows::Origin;
using rows::Unknown;
using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

/// A graph that is run node by node.
class GraphRun {
 public:
  explicit GraphRun(rows::Trace& trace) : trace_(trace) {}

  void set(const Value* value, Known known) { values_[value] = std::move(known); }
  const Known& get(const Value* value) const { return values_.at(value); }

  void run(const Block& block) {
    for (const Node* node : block.nodes()) {
      if (++nodes_ > kMostNodes) throw Unknown("takes too many steps to follow");
      node_ = node;
      run(*node);
    }
  }

  /// Of the node that runs: ", at model.py:12: x.mean(0)".
  std::string place() const {
    if (node_ == nullptr) return "";
    torch::jit::SourceRange range = node_->sourceRange();
    if (auto original = range.findSourceRangeThatGenerated()) range = *original;
    const auto found = range.file_line_col();
    // Of traced files, where torch itself calls operators of it.
    if (!found || std::get<0>(*found).find("/torch/") != std::string::npos) return "";
    std::string text = range.text().str();
    text.erase(std::min(text.find('\n'), text.size()));
    return ", at " + std::filesystem::path(std::get<0>(*found)).filename().string() + ':' +
           std::to_string(std::get<1>(*found)) + ": " + text.substr(0, kMostText);
  }

  void done() { node_ = nullptr; }

 private:
  static constexpr std::size_t kMostNodes = 200'000;
  static constexpr std::size_t kMostText = 100;

  void run(const Node& node) {
    switch (node.kind()) {
      case prim::Constant: {
        const auto value = torch::jit::toIValue(node.output());
        if (!value) throw Unknown("has a constant of another kind");
        return set(node.output(), {rows::Trace::constant(*value)});
      }
      case prim::GetAttr:
        return set(node.output(),
                   {rows::Trace::constant(
                       get(node.input()).value.toObject()->getAttr(node.s(attr::name)))});
      case prim::If: {
        const Block& block = *node.blocks()[is_true(node.input()) ? 0 : 1];
        run(block);
        for (std::size_t i = 0; i < node.outputs().size(); ++i) {
          set(node.output(i), get(block.outputs()[i]));
        }
        return;
      }
      case prim::Loop:
        return run_loop(node);
      case prim::ListConstruct:
        return make_list(node);
      case prim::TupleConstruct: {
        std::vector<c10::IValue> elements;
        Known made;
        for (const Value* input : node.inputs()) {
          elements.push_back(get(input).value);
          made.elements.push_back(get(input).origin);
          made.origin = std::max(made.origin, get(input).origin);
        }
        made.value = c10::ivalue::Tuple::create(std::move(elements));
        return set(node.output(), std::move(made));
      }
      case prim::DictConstruct: {
        const auto type = node.output()->type()->expect<c10::DictType>();
        c10::impl::GenericDict made(type->getKeyType(), type->getValueType());
        for (std::size_t i = 0; i + 1 < node.inputs().size(); i += 2) {
          if (get(node.input(i + 1)).origin != Origin::kFixed)
            throw Unknown("keeps a number of rows");
          made.insert(get(node.input(i)).value, get(node.input(i + 1)).value);
        }
        return set(node.output(), {made});
      }
      case prim::ListUnpack:
      case prim::TupleUnpack:
        return unpack(node);
      case prim::unchecked_cast:
        return set(node.output(), get(node.input()));
      case prim::Uninitialized:
        return set(node.output(), {});
      case prim::CallFunction:
      case prim::CallMethod:
      case prim::CreateObject:
      case prim::SetAttr:
      case prim::fork:
        throw Unknown(std::string("is a ") + node.kind().toUnqualString() +
                      ", which is not followed");
      default:
        return run_operator(node);
    }
  }

  bool is_true(const Value* condition) const {
    const Known& known = get(condition);
    if (known.origin != Origin::kFixed) throw rows::Mixes("with a branch on the number of rows");
    return known.value.toBool();
  }

  void run_loop(const Node& node) {
    const Known& rounds = get(node.input(0));
    if (rounds.origin != Origin::kFixed) throw rows::Mixes("with a loop over the rows");
    const Block& body = *node.blocks()[0];
    const std::int64_t most = rounds.value.toInt();
    bool goes_on = is_true(node.input(1));
    std::vector<Known> carried;
    for (const Value* input : node.inputs().slice(2)) carried.push_back(get(input));
    for (std::int64_t round = 0; round < most && goes_on; ++round) {
      set(body.inputs()[0], {round});
      for (std::size_t i = 0; i < carried.size(); ++i) set(body.inputs()[i + 1], carried[i]);
      run(body);
      goes_on = is_true(body.outputs()[0]);
      for (std::size_t i = 0; i < carried.size(); ++i) carried[i] = get(body.outputs()[i + 1]);
    }
    for (std::size_t i = 0; i < carried.size(); ++i) set(node.output(i), carried[i]);
  }

  void make_list(const Node& node) {
    Known made;
    c10::impl::GenericList list(node.output()->type()->expectRef<c10::ListType>().getElementType());
    for (const Value* input : node.inputs()) {
      const Known& one = get(input);
      list.push_back(one.value);
      made.elements.push_back(one.origin);
      made.origin = std::max(made.origin, one.origin);
    }
    made.value = list;  // shares it
    set(node.output(), std::move(made));
  }

  void unpack(const Node& node) {
    const Known known = get(node.input());
    const std::vector<c10::IValue> values = known.value.isTuple()
                                                ? known.value.toTupleRef().elements().vec()
                                                : known.value.toListRef().vec();
    if (values.size() != node.outputs().size()) throw Unknown("unpacks another number of values");
    for (std::size_t i = 0; i < values.size(); ++i) {
      set(node.output(i), {values[i], known.elements.empty() ? known.origin : known.elements[i]});
    }
  }

  void run_operator(const Node& node) {
    const torch::jit::Operator* an_operator = node.maybeOperator();
    if (an_operator == nullptr) {
      throw Unknown(std::string("is a ") + node.kind().toQualString() + ", which is not followed");
    }
    std::vector<Known> arguments;
    for (const Value* input : node.inputs()) arguments.push_back(get(input));
    torch::jit::Operation operation = node.getOperation();
    const std::size_t count = arguments.size();
    std::vector<Known> results =
        trace_.call(node.schema(), std::move(arguments), [&](rows::Stack& stack) {
          if (node.schema().is_vararg()) stack.emplace_back(static_cast<std::int64_t>(count));
          operation(stack);
        });
    if (results.size() != node.outputs().size()) throw Unknown("gives another number of values");
    for (std::size_t i = 0; i < results.size(); ++i) set(node.output(i), std::move(results[i]));
  }

  rows::Trace& trace_;
  std::unordered_map<const Value*, Known> values_;
  const Node* node_ = nullptr;
  std::size_t nodes_ = 0;
};

/// The tensors of a result: of tuples, lists and dicts, all.
void add_tensors(const c10::IValue& value, std::vector<at::Tensor>& all) {
  if (value.isTensor()) {
    all.push_back(value.toTensor());
  } else if (value.isTuple()) {
    for (const c10::IValue& one : value.toTupleRef().elements()) add_tensors(one, all);
  } else if (value.isList()) {
    for (const c10::IValue& one : value.toListRef()) add_tensors(one, all);
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) add_tensors(entry.value(), all);
  } else if (!value.isNone()) {
    throw Unknown("gives something else than tensors");
  }
}

std::vector<std::int64_t> sizes_with_rows(const BoundBlock& block, std::int64_t rows) {
  std::vector<std::int64_t> sizes(block.tensor.size_of_dim.begin(),
                                  block.tensor.size_of_dim.begin() + block.tensor.rank);
  sizes[block.row_dimension()] = rows;
  return sizes;
}

void find(rows::Trace& trace, GraphRun& run, const torch::jit::Module& module,
          const Binding& binding, const std::vector<std::size_t>& arguments) {
  const torch::jit::Method forward = module.get_method("forward");
  const torch::jit::Graph& graph = *forward.graph();
  run.set(graph.inputs()[0], {module._ivalue()});
  const auto& schema = forward.function().getSchema().arguments();
  for (std::size_t i = 1; i < graph.inputs().size(); ++i) {
    run.set(graph.inputs()[i], {schema[i].default_value().value_or(c10::IValue())});
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const BoundBlock& block = binding.inputs[i];
    if (block.form != BlockForm::kInPlace && block.form != BlockForm::kRepacked) {
      throw rows::Mixes("block " + block.name + " has the rows of several groups");
    }
    if (block.collection >= rows::kPrimes.size()) throw Unknown("there are too many collections");
    const rows::Rows own{block.collection, static_cast<std::int64_t>(block.row_dimension())};
    const at::Tensor tensor = trace.tensor(sizes_with_rows(block, rows::kPrimes[block.collection]),
                                           to_torch(block.tensor.dtype), own);
    run.set(graph.inputs()[arguments[i] + 1], {tensor});
  }
  run.run(*graph.block());
  run.done();
  std::vector<at::Tensor> results;
  add_tensors(run.get(graph.outputs()[0]).value, results);
  for (const at::Tensor& result : results) {
    for (const BoundBlock& block : binding.outputs) {
      rows::require_rows(trace.state(result), block.row_dimension(), "block " + block.name);
    }
  }
}

}  // namespace

RowDependence row_dependence(const torch::jit::Module& module, const Binding& binding,
                             const std::vector<std::size_t>& arguments) {
  rows::Trace trace;
  GraphRun run(trace);
  return rows::proven(
      trace, [&] { find(trace, run, module, binding, arguments); }, [&] { return run.place(); });
}

}  // namespace tensoa::pytorch
