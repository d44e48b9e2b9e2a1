// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "described_binding.hpp"

#include <utility>

#include "tensoa/core/error.hpp"
#include "tensoa/core/read_file.hpp"
#include "tensoa/soa/soa_metadata.hpp"

namespace tensoa::tools {
namespace {

/// Whether the columns lie at equal distances, and as the planes of the block that they were described as.
bool is_in_place(const BlockDescription& block, std::span<const ColumnPlace> places) {
  const std::vector<ColumnDescription>& columns = block.columns;
  for (std::size_t i = 1; i < places.size(); ++i) {
    const auto step = places[i].data - places[i - 1].data;
    if (step <= 0 || step != places[1].data - places[0].data) return false;
    if (places[i].pitch != places[0].pitch || columns[i].plane <= columns[i - 1].plane)
      return false;
    const auto planes = static_cast<std::ptrdiff_t>(columns[i].plane - columns[i - 1].plane);
    if (planes != static_cast<std::ptrdiff_t>(columns[1].plane - columns[0].plane)) return false;
    if (step % (planes * static_cast<std::ptrdiff_t>(block.element.element_size())) != 0)
      return false;
  }
  return true;
}

}  // namespace

void append_described(std::vector<BoundBlock>& blocks, const BlockDescription& block,
                      std::span<const ColumnPlace> places, std::size_t rows, Device device,
                      bool is_input) {
  BoundBlock bound;
  bound.name = block.name;
  bound.shape = block.shape;
  bound.collection = block.collection;
  bound.tensor.dtype = block.dtype;
  bound.converts = block.dtype != block.element.dtype;
  if (bound.converts || !is_in_place(block, places)) bound.form = BlockForm::kRepacked;
  std::vector<ColumnRecord> records;
  for (const ColumnDescription& column : block.columns) {
    const auto field = static_cast<std::uint32_t>(records.size());
    bound.columns.push_back({column.name, field, 0, column.plane, block.element});
    records.push_back({.data = places[field].data,
                       .pitch = places[field].pitch,
                       .size = rows,
                       .capacity = rows,
                       .info = block.element,
                       .device = device,
                       .field = field,
                       .read_only = is_input});
  }
  detail::append_block(blocks, std::move(bound), records, rows, nullptr, 0);
}

BindingDescription read_binding(const std::string& file) {
  const std::string text = read_file(file);
  try {
    return parse_binding(text);
  } catch (const InputError& error) {
    throw InputError(file + ": " + error.what());
  }
}

void use_binding(package::ModelDescription& model, const std::string& file) {
  model.binding = read_binding(file);
  const auto arguments = [&](const std::vector<BlockDescription>& blocks) {
    std::vector<package::ArgumentDescription> all;
    for (const BlockDescription& block : blocks) {
      package::ArgumentDescription& argument = all.emplace_back();
      argument.name = block.name;
      argument.block = block;
      argument.collection = block.collection;
    }
    return all;
  };
  model.inputs = arguments(model.binding->inputs);
  model.outputs = arguments(model.binding->outputs);
}

std::string plane_name(const std::string& column, const FieldInfo& element, std::size_t plane) {
  if (!element.has_planes()) return column;
  if (element.kind == ColumnKind::kVector) return column + '.' + std::to_string(plane);
  return column + '.' + std::to_string(plane % element.rows) + '.' +
         std::to_string(plane / element.rows);
}

}  // namespace tensoa::tools
