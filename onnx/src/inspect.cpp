// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "onnx_engine.hpp"
#include "session.hpp"

namespace tensoa::onnx {
namespace {

/// Of columns that have no names: a damaged file may have more than there is memory for.
constexpr std::int64_t kMostPlanes = 1U << 20U;

/// Which columns a value can be: an ONNX file says sizes, of which one is rows, and names no columns. Rows are first, or
/// second where the first of two sizes is a number: [2, n], as edges are.
std::optional<BlockDescription> block_of(const Value& value) {
  const TensorSpec& spec = value.spec;
  if (!spec.dtype || !spec.sizes || spec.sizes->empty() || spec.sizes->size() > kMaxRank) return {};
  std::vector<std::int64_t> sizes = *spec.sizes;
  BlockDescription block;
  block.name = spec.name;
  block.dtype = *spec.dtype;
  block.element = {ColumnKind::kPlain, *spec.dtype, 1, 1};
  if (sizes.size() == 2 && sizes[0] > 1 && sizes[1] == kAnySize) {
    block.shape = BlockShape::kColumns;
    std::swap(sizes[0], sizes[1]);
  }
  if (sizes[0] != kAnySize && sizes[0] != 1) return {};
  std::int64_t planes = 1;
  for (std::size_t dim = 1; dim < sizes.size(); ++dim) {
    if (sizes[dim] < 1 || sizes[dim] > kMostPlanes / planes) return {};
    planes *= sizes[dim];
  }
  if (sizes.size() > 2) {
    if (sizes[1] == 1) return {};  // one vector a row is [n, R], and not [n, 1, R]
    const bool is_matrix = sizes.size() == 4;
    block.element = {is_matrix ? ColumnKind::kMatrix : ColumnKind::kVector, *spec.dtype,
                     static_cast<std::uint32_t>(sizes[2]),
                     static_cast<std::uint32_t>(is_matrix ? sizes[3] : 1)};
  }
  const std::int64_t columns = sizes.size() > 1 ? sizes[1] : 1;
  for (std::int64_t i = 0; i < columns; ++i) {
    block.columns.push_back(
        {columns == 1 ? spec.name : spec.name + '_' + std::to_string(i),
         static_cast<std::uint32_t>(block.columns.size() * block.element.planes())});
  }
  return block;
}

/// The name of the number of rows; empty where the file has none.
const std::string& name_of_rows(const Value& value, const BlockDescription& block) {
  return value.size_names[block.shape == BlockShape::kColumns ? 1 : 0];
}

bool has_one_row(const Value& value) { return value.spec.sizes && (*value.spec.sizes)[0] == 1; }

/// Describes the columns of all arguments, where each can be some.
void describe_columns(const Session& session, package::ModelDescription& model) {
  if (session.inputs().empty() || session.outputs().empty()) return;
  const bool is_row_after_row = std::ranges::all_of(session.inputs(), has_one_row) &&
                                std::ranges::all_of(session.outputs(), has_one_row);
  BindingDescription binding;
  std::map<std::string, std::size_t> collections;  // by the names of their numbers of rows
  for (const Value& input : session.inputs()) {
    auto block = block_of(input);
    if (!block) return;
    const bool is_of_call = has_one_row(input) && !is_row_after_row;
    if (is_of_call && block->element.kind != ColumnKind::kPlain) return;
    if (is_of_call) block->element.kind = ColumnKind::kScalar;
    if (!is_of_call) {
      block->collection =
          collections.try_emplace(name_of_rows(input, *block), collections.size()).first->second;
    }
    binding.inputs.push_back(*std::move(block));
  }
  if (collections.empty()) return;
  std::vector<package::ArgumentDescription> outputs;
  std::string left_out;
  for (const Value& output : session.outputs()) {
    if (!output.spec.dtype) {
      left_out += "; " + output.spec.name + " is " + output.type + ", which no column holds";
      continue;
    }
    auto block = block_of(output);
    if (!block) return;
    const auto found = collections.find(name_of_rows(output, *block));
    const bool is_one = has_one_row(output) && !is_row_after_row;
    if (!is_one && found == collections.end() && collections.size() > 1) return;
    if (!is_one && found != collections.end()) block->collection = found->second;
    const std::optional<std::size_t> collection =
        is_one ? std::nullopt : std::optional(block->collection);
    outputs.push_back(package::argument_of(*block, collection, 1));
    binding.outputs.push_back(*std::move(block));
  }
  if (outputs.empty()) return;
  model.inputs.clear();
  for (const BlockDescription& block : binding.inputs) {
    model.inputs.push_back(package::argument_of(block, block.collection));
  }
  model.outputs = std::move(outputs);
  model.proof += left_out;
  model.binding = std::move(binding);
}

package::ArgumentDescription described(const Value& value) {
  package::ArgumentDescription argument;
  argument.name = value.spec.name;
  argument.type = value.spec.dtype ? value.spec.type() : value.type;
  return argument;
}

}  // namespace

package::ModelDescription inspect_onnx(const std::filesystem::path& path) {
  const Session session(path);
  package::ModelDescription model;
  model.format = "ONNX, run by ONNX Runtime " + Runtime::get().version;
  model.targets.front().name = "cpu";
  model.proof = "ONNX Runtime reads its inputs";
  model.row_dependence = {RowDependence::Answer::kUnknown, "ONNX Runtime does not state it"};
  std::error_code failure;
  model.bytes = std::filesystem::file_size(path, failure);
  for (const Value& input : session.inputs()) model.inputs.push_back(described(input));
  for (const Value& output : session.outputs()) model.outputs.push_back(described(output));
  describe_columns(session, model);
  return model;
}

}  // namespace tensoa::onnx
