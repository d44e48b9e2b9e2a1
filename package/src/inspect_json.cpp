// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tensoa/package/inspect.hpp"

namespace tensoa::package {
namespace {

using nlohmann::ordered_json;

/// Files may have any bytes in their names.
std::string text_of(const ordered_json& object) {
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

/// Adds what a package has for one target.
void add(const TargetDescription& target, ordered_json& object) {
  object["programs"] = ordered_json::array();
  for (const ProgramDescription& program : target.programs) {
    object["programs"].push_back({{"kind", program.kind},
                                  {"name", program.name},
                                  {"status", program.status},
                                  {"cpu_flags", program.cpu_flags},
                                  {"bytes", program.bytes}});
  }
  object["fused_stages"] = target.fused ? target.fused->stages : std::vector<std::string>();
  if (!target.parts.empty()) {
    ordered_json& parts = object["fused_parts"] = ordered_json::array();
    for (const FusedPart& part : target.parts) parts.push_back(part.stages);
    ordered_json& unfused = object["unfused"] = ordered_json::array();
    for (const UnfusedOperation& one : target.unfused) {
      unfused.push_back({{"operation", one.name}, {"reason", one.reason}});
    }
  }
  object["checks"] = ordered_json::array();
  for (const CheckDescription& check : target.checks) {
    object["checks"].push_back({{"rows", check.rows},
                                {"numbers", check.numbers},
                                {"relative_error", check.error},
                                {"relative_error_eager", check.error_of_eager}});
  }
  object["gpu_checks"] = ordered_json::array();
  for (const GpuCheckDescription& check : target.gpu_checks) {
    object["gpu_checks"].push_back(
        {{"architecture", check.architecture},
         {"gpu", check.gpu},
         {"relative_error", check.error},
         {"cuda_graphs",
          check.has_graphs ? ordered_json(true) : ordered_json(check.why_no_graphs)}});
  }
}

/// Adds the first fields of a target.
void add_head(const TargetDescription& target, ordered_json& object) {
  if (!target.gpu_architecture.empty()) object["gpu_architecture"] = target.gpu_architecture;
  if (target.is_deterministic) object["deterministic"] = *target.is_deterministic;
}

ordered_json json_of(const ArgumentDescription& argument, bool is_input) {
  ordered_json object{{"name", argument.name}, {"type", argument.type}};
  if (argument.block) {
    ordered_json columns = ordered_json::array();
    for (const ColumnDescription& column : argument.block->columns) {
      columns.push_back({{"name", column.name}, {"plane", column.plane}});
    }
    object["kind"] = name_of(argument.block->element.kind);
    object["column_dtype"] = name_of(argument.block->element.dtype);
    object["columns"] = std::move(columns);
  }
  if (is_input) object["may_be_written"] = argument.may_be_written;
  return object;
}

}  // namespace

std::string to_json(const ModelDescription& model) {
  ordered_json object;
  if (model.is_served) {
    object["checksum"] = model.checksum.empty() ? ordered_json() : ordered_json(model.checksum);
  } else {
    object["bytes"] = model.bytes;
  }
  object["compilation"] = name_of(model.compilation);
  object["format"] = model.format;
  object["target"] = names_of(model.targets);
  if (!model.machine.empty()) object["machine"] = model.machine;
  const bool has_one_target = model.targets.size() == 1;
  if (has_one_target) add_head(model.targets.front(), object);
  if (!model.torch.empty()) object["torch"] = model.torch;
  object["match"] = name_of(model.match);
  object["inputs"] = ordered_json::array();
  for (const auto& input : model.inputs) object["inputs"].push_back(json_of(input, true));
  object["outputs"] = ordered_json::array();
  for (const auto& output : model.outputs) object["outputs"].push_back(json_of(output, false));
  object["row_dependence"] = {{"answer", name_of(model.row_dependence.answer)},
                              {"reason", model.row_dependence.reason}};
  object["keeps_state"] = model.keeps_state;
  object["proof"] = model.proof;
  if (model.weights) {
    object["weights"] = *model.weights;
    object["weight_bytes"] = *model.weight_bytes;
  }
  if (!model.operators.empty()) {
    ordered_json& operators = object["operators"];
    for (const auto& [name, count] : model.operators) operators[name] = count;
  }
  if (!model.forest_facts.empty()) {
    ordered_json& trees = object["trees"];
    for (const auto& [name, value] : model.forest_facts) trees[name] = value;
  }
  if (model.compilation != CompilationType::kAheadOfTime || model.is_served) return text_of(object);
  if (has_one_target) {
    add(model.targets.front(), object);
    return text_of(object);
  }
  for (const TargetDescription& target : model.targets) {
    ordered_json one{{"target", target.name}};
    add_head(target, one);
    add(target, one);
    object["targets"].push_back(std::move(one));
  }
  return text_of(object);
}

}  // namespace tensoa::package
