// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/package/inspect.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "inspect_package.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/package/package.hpp"

namespace tensoa::package {
namespace {

/// "float32[n0, 3]" for rows "n0".
std::string type_of(const BlockDescription& block, const std::string& rows) {
  std::vector<std::string> sizes{rows};
  if (block.shape == BlockShape::kColumns) {
    sizes = {std::to_string(block.columns.size()), rows};
  } else {
    if (!block.element.has_planes() || block.columns.size() > 1) {
      sizes.push_back(std::to_string(block.columns.size()));
    }
    if (block.element.has_planes()) sizes.push_back(std::to_string(block.element.rows));
    if (block.element.kind == ColumnKind::kMatrix) {
      sizes.push_back(std::to_string(block.element.columns));
    }
  }
  std::string text(name_of(block.dtype));
  for (const std::string& size : sizes) text += (&size == &sizes.front() ? "[" : ", ") + size;
  return text + ']';
}

ModelDescription described(const Manifest& manifest) {
  ModelDescription model;
  model.compilation = CompilationType::kAheadOfTime;
  model.proof = "torch.export: the program writes its outputs and nothing else";
  model.format =
      "package " + std::to_string(manifest.targets.size() == 1 ? kSchemaOfOneTarget : kSchema);
  model.targets = manifest.targets;
  model.machine = manifest.machine;
  model.torch = manifest.torch;
  model.row_dependence = manifest.row_dependence;
  model.binding = manifest.binding;
  model.match = manifest.binding.match;
  for (std::size_t i = 0; i < manifest.collections.size(); ++i) {
    model.inputs.push_back(argument_of(manifest.binding.inputs[i], manifest.collections[i]));
  }
  for (std::size_t i = 0; i < manifest.binding.outputs.size(); ++i) {
    const RowRule& rule = manifest.rows[i];
    model.outputs.push_back(argument_of(manifest.binding.outputs[i], rule.collection, rule.rows));
  }
  if (manifest.forest) {
    model.forest_facts = manifest.forest->facts;
    model.proof = "trees: columns are read, answers are written";
  }
  return model;
}

/// Hands out the bytes of a record one after another.
class Pieces {
 public:
  explicit Pieces(std::string_view bytes) : left_(bytes) {}

  template <class T>
  std::vector<T> next(std::size_t bytes) {
    if (bytes > left_.size()) throw std::runtime_error("its recorded results are cut off");
    std::vector<T> values(bytes / sizeof(T));
    std::copy_n(left_.data(), bytes, reinterpret_cast<char*>(values.data()));
    left_.remove_prefix(bytes);
    return values;
  }

 private:
  std::string_view left_;
};

RecordedResults::Case recorded_case(std::string_view record, const RecordedFiles::Case& from,
                                    const ModelDescription& model) {
  RecordedResults::Case one;
  one.rows = from.rows;
  one.numbers = from.numbers;
  one.tolerances = from.tolerances;
  const std::size_t rows = one.rows;
  Pieces pieces(record);
  const auto planes = [](const ArgumentDescription& argument) {
    return argument.block->columns.size() * argument.block->element.planes();
  };
  const auto rows_of = [&](const ArgumentDescription& argument) {
    return argument.collection ? rows * (1 + 2 * *argument.collection) : argument.rows;
  };
  for (const ArgumentDescription& input : model.inputs) {
    const FieldInfo& element = input.block->element;
    const std::size_t line =
        element.is_scalar() ? std::min<std::size_t>(rows_of(input), 1) : rows_of(input);
    one.inputs.push_back(pieces.next<std::byte>(planes(input) * line * element.element_size()));
  }
  for (const ArgumentDescription& output : model.outputs) {
    one.outputs.push_back(pieces.next<double>(planes(output) * rows_of(output) * sizeof(double)));
  }
  if (one.tolerances.empty()) return one;
  const bool are_of_outputs =
      std::ranges::equal(one.tolerances, model.outputs,
                         [&](const auto& tolerances, const ArgumentDescription& output) {
                           return tolerances.size() == planes(output);
                         });
  if (!are_of_outputs) {
    throw std::runtime_error("its recorded tolerances are not those of its output columns");
  }
  return one;
}

}  // namespace

ArgumentDescription argument_of(const BlockDescription& block,
                                std::optional<std::size_t> collection, std::size_t rows) {
  const std::string count = collection ? 'n' + std::to_string(*collection) : std::to_string(rows);
  return {block.name, type_of(block, count), block, collection, rows};
}

ModelDescription inspect(const ModelLocation& location, const ModelOptions& options) {
  const auto loader = find_loader(location);
  if (const auto* inspecting = dynamic_cast<const InspectingLoader*>(loader.get())) {
    return inspecting->inspect(location, options);
  }
  throw LoadError("model " + location.text() + ": is loaded by the engine " +
                  std::string(loader->name()) + ", which does not state what is in its models");
}

ModelDescription inspect_package(const std::filesystem::path& path) {
  const Package package(path);
  ModelDescription model = described(package.manifest());
  model.bytes = package.bytes();
  return model;
}

Device device_for(const std::string& name, const ModelDescription& model) {
  if (name != "auto") return parse_device(name);
  const bool runs_on_cpu = target_for(model.targets, DeviceKind::kCpu) != nullptr;
  return parse_device(runs_on_cpu ? "cpu" : "cuda");
}

std::optional<RecordedResults> recorded_results(const std::filesystem::path& path,
                                                DeviceKind kind) {
  const Package package(path);
  const std::optional<RecordedFiles>& recorded = package.manifest().recorded;
  if (!recorded) return std::nullopt;
  const ModelDescription model = described(package.manifest());
  const TargetDescription* const target = target_for(model.targets, kind);
  const double least = target == nullptr ? 0 : target->tolerance;
  RecordedResults results{.tolerance = std::max(recorded->tolerance, least), .cases = {}};
  for (const RecordedFiles::Case& one : recorded->cases) {
    try {
      results.cases.push_back(recorded_case(package.archive().file(one.file), one, model));
    } catch (const std::runtime_error& error) {
      package.fail(error.what());
    }
    for (std::vector<double>& tolerances : results.cases.back().tolerances) {
      for (double& tolerance : tolerances) tolerance = std::max(tolerance, least);
    }
  }
  return results;
}

}  // namespace tensoa::package
