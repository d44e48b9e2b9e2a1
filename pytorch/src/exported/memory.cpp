// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "exported/memory.hpp"

#include <algorithm>
#include <stdexcept>

#include "runtime/operator_effects.hpp"

namespace tensoa::pytorch::exported {
namespace {

void unite(std::vector<ValueId>& into, const std::vector<ValueId>& other) {
  std::vector<ValueId> both;
  std::ranges::set_union(into, other, std::back_inserter(both));
  into = std::move(both);
}

/// Whether the write that a schema hides does not happen in this node.
bool is_switched_off(const HiddenWrite& hidden, const Node& node) {
  if (hidden.condition.empty()) return false;
  const auto i = node.op->schema().argumentIndexWithName(std::string(hidden.condition));
  if (!i) return false;
  const Argument& condition = node.arguments[static_cast<std::size_t>(*i)];
  return condition.form == Argument::Form::kConstant && condition.constant.isBool() &&
         !condition.constant.toBool();
}

}  // namespace

Memory::Memory(const Program& program)
    : roots_(program.values.size()),
      view_of_(program.values.size(), kNoValue),
      written_(program.values.size()),
      is_weight_(program.values.size()) {
  for (const ValueId input : program.inputs) {
    roots_[input] = {input};
    view_of_[input] = input;
  }
  for (const Weight& weight : program.weights) {
    roots_[weight.value] = {weight.value};
    is_weight_[weight.value] = true;
  }
  for (const Node& node : program.nodes) {
    if (node.op) follow(program, node);
  }
}

bool Memory::is_written(ValueId value) const {
  return std::ranges::any_of(roots_[value], [&](ValueId root) { return written_[root]; });
}

bool Memory::may_overlap(ValueId a, ValueId b) const {
  return std::ranges::any_of(
      roots_[a], [&](ValueId root) { return std::ranges::binary_search(roots_[b], root); });
}

void Memory::follow(const Program& program, const Node& node) {
  const c10::FunctionSchema& schema = node.op->schema();
  const OperatorEffects effects(schema);
  if (effects.rebinds) {
    throw std::runtime_error(node.text() +
                             " moves a tensor into other memory; export the module without it");
  }
  const bool hides = effects.hidden != nullptr && !is_switched_off(*effects.hidden, node);
  for (std::size_t i = 0; i < node.arguments.size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    if (is_annotated_write(argument) || effects.writes_all ||
        (hides && is_hidden_write(*effects.hidden, argument.name()))) {
      write(program, node, node.arguments[i]);
    }
  }
  for (std::size_t r = 0; r < node.results.size(); ++r) {
    const c10::AliasInfo* const of_result = schema.returns()[r].alias_info();
    for (const ValueId result : node.results[r].values) {
      if (result == kNoValue) continue;
      bool is_view = false;
      for (std::size_t i = 0; i < node.arguments.size(); ++i) {
        const bool is_said = may_alias(of_result, schema.arguments()[i].alias_info());
        const bool is_hidden = effects.shares && (i == 0 || !effects.shares_first);
        if (!is_said && !is_hidden) continue;
        node.arguments[i].each_value([&](ValueId value) { unite(roots_[result], roots_[value]); });
        if (is_said && node.arguments[i].form == Argument::Form::kValue) {
          view_of_[result] = view_of_[node.arguments[i].value];
          is_view = true;
        }
      }
      if (!is_view) unite(roots_[result], {result});
    }
  }
}

void Memory::write(const Program& program, const Node& node, const Argument& argument) {
  argument.each_value([&](ValueId value) {
    for (const ValueId root : roots_[value]) {
      written_[root] = true;
      if (!is_weight_[root]) continue;
      throw std::runtime_error(node.text() + " changes " + program.name_of_weight(root) +
                               ", a parameter, buffer or constant of the model; expected a model "
                               "that keeps nothing between calls: export it after module.eval()");
    }
    if (view_of_[value] != kNoValue) {
      throw std::runtime_error(node.text() + " changes the input " +
                               program.values[view_of_[value]].name +
                               "; let forward work on a copy (x = x.clone()), and export it again");
    }
  });
}

}  // namespace tensoa::pytorch::exported
