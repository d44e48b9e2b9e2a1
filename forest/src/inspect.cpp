// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "engines.hpp"
#include "facts.hpp"
#include "tensoa/forest/readers.hpp"

namespace tensoa::forest {
namespace {

/// Of columns without names: a damaged file may count more of them than there is memory for.
constexpr std::size_t kMostUnnamed = 1U << 16U;

BlockDescription block_of(std::string name, std::vector<std::string> columns) {
  BlockDescription block;
  block.name = std::move(name);
  block.element = {ColumnKind::kPlain, DType::kF32, 1, 1};
  for (std::string& column : columns) {
    block.columns.push_back({std::move(column), static_cast<std::uint32_t>(block.columns.size())});
  }
  return block;
}

std::vector<std::string> numbered(const std::string& beginning, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(beginning + std::to_string(i));
  return names;
}

/// Columns of any dtype are taken.
package::ArgumentDescription argument_of(const BlockDescription& block, std::string_view dtype) {
  package::ArgumentDescription argument = package::argument_of(block, 0);
  argument.type.replace(0, argument.type.find('['), dtype);
  return argument;
}

}  // namespace

package::ModelDescription inspect_tree_file(const std::filesystem::path& path) {
  const Ensemble ensemble = read_tree_file(path);
  package::ModelDescription model;
  model.format = "tree file";
  model.targets.front().name = "cpu";
  model.proof = "trees: columns are read, answers are written";
  model.targets.front().is_deterministic = true;
  model.row_dependence.answer = RowDependence::Answer::kIndependent;
  model.forest_facts = facts_of(ensemble);
  for (const std::string& note : ensemble.notes) model.forest_facts.emplace_back("note", note);
  model.match = goes_by_name(ensemble) ? Match::kByName : Match::kByOrder;
  std::error_code failure;
  model.bytes = std::filesystem::file_size(path, failure);
  const bool has_names = !ensemble.column_names.empty();
  if (!has_names && ensemble.columns > kMostUnnamed) return model;
  BindingDescription binding;
  binding.match = model.match;
  binding.inputs.push_back(
      block_of("features", has_names ? ensemble.column_names : numbered("f", ensemble.columns)));
  binding.outputs.push_back(block_of("answers", ensemble.classes.size() == ensemble.outputs
                                                    ? ensemble.classes
                                                    : numbered("answer_", ensemble.outputs)));
  model.inputs.push_back(argument_of(binding.inputs.front(), "number"));
  model.outputs.push_back(argument_of(binding.outputs.front(), "float"));
  model.binding = std::move(binding);
  return model;
}

}  // namespace tensoa::forest
