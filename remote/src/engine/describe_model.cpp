// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "engine/describe_model.hpp"

#include <optional>
#include <string>

#include "kserve/datatypes.hpp"

namespace tensoa::remote {
namespace {

/// The most columns for which a user has names.
constexpr std::int64_t kMostColumns = 10'000;

/// The number of columns of rows [rows, k], of single columns [rows], or of planes [1, k, rows]; none for other
/// tensors.
std::optional<std::int64_t> columns_of(const WireTensor& tensor, bool is_planes) {
  const std::vector<std::int64_t>& sizes = tensor.sizes;
  if (is_planes) return sizes.size() == 3 ? std::optional(sizes[1]) : std::nullopt;
  if (sizes.size() == 1 && sizes[0] < 0) return 1;
  if (sizes.size() == 2 && sizes[0] < 0 && sizes[1] > 0) return sizes[1];
  return std::nullopt;
}

package::ArgumentDescription describe_tensor(const WireTensor& tensor, bool is_planes) {
  const std::optional<DType> dtype = dtype_of(tensor.datatype);
  const std::optional<std::int64_t> columns = columns_of(tensor, is_planes);
  if (!dtype || !columns || *columns < 1 || *columns > kMostColumns) {
    package::ArgumentDescription argument;
    argument.name = tensor.name;
    argument.type = tensor_type(tensor.datatype, tensor.sizes);
    return argument;
  }
  BlockDescription block;
  block.name = tensor.name;
  block.dtype = *dtype;
  block.element = {.kind = ColumnKind::kPlain, .dtype = *dtype, .rows = 1, .columns = 1};
  for (std::int64_t i = 0; i < *columns; ++i) {
    block.columns.push_back({*columns == 1 ? tensor.name : tensor.name + '.' + std::to_string(i),
                             static_cast<std::uint32_t>(i)});
  }
  return package::argument_of(block, 0);
}

}  // namespace

package::ModelDescription describe_model(const ServedModel& model) {
  const ModelMetadataReply& metadata = model.metadata;
  const bool is_planes = is_tensoa(metadata);
  package::ModelDescription description;
  if (model.published) description = model.published->model;
  description.checksum = model.checksum;
  description.compilation = CompilationType::kAheadOfTime;
  description.is_served = true;
  description.targets.front().name = "cpu";
  description.format = "KServe v2, platform ";
  description.format += metadata.platform.empty() ? "unknown" : metadata.platform;
  if (model.published) return description;
  BindingDescription binding;
  bool has_columns = true;
  const auto describe = [&](const std::vector<WireTensor>& tensors,
                            std::vector<package::ArgumentDescription>& arguments,
                            std::vector<BlockDescription>& blocks) {
    for (const WireTensor& tensor : tensors) {
      const auto& argument = arguments.emplace_back(describe_tensor(tensor, is_planes));
      has_columns = has_columns && argument.block;
      if (argument.block) blocks.push_back(*argument.block);
    }
  };
  describe(metadata.inputs, description.inputs, binding.inputs);
  describe(metadata.outputs, description.outputs, binding.outputs);
  if (has_columns) description.binding = std::move(binding);
  return description;
}

}  // namespace tensoa::remote
