// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/package/described_columns.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "tensoa/core/error.hpp"
#include "tensoa/core/nearest_name.hpp"
#include "tensoa/core/read_file.hpp"
#include "tensoa/soa/plane_name.hpp"
#include "tensoa/soa/soa_metadata.hpp"

namespace tensoa::package {
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
  append_block(blocks, std::move(bound), records, rows, nullptr, 0);
}

BindingDescription read_binding(const std::string& file) {
  const std::string text = read_file(file);
  try {
    return parse_binding(text);
  } catch (const InputError& error) {
    throw InputError(file + ": " + error.what());
  }
}

void use_binding(ModelDescription& model, BindingDescription binding) {
  model.match = binding.match;
  model.binding = std::move(binding);
  const auto arguments = [&](const std::vector<BlockDescription>& blocks) {
    std::vector<ArgumentDescription> all;
    for (const BlockDescription& block : blocks) {
      ArgumentDescription& argument = all.emplace_back();
      argument.name = block.name;
      argument.block = block;
      argument.collection = block.collection;
    }
    return all;
  };
  model.inputs = arguments(model.binding->inputs);
  model.outputs = arguments(model.binding->outputs);
}

std::vector<std::string> plane_names(const BlockDescription& block) {
  std::vector<std::string> names;
  for (const ColumnDescription& column : block.columns) {
    for (std::size_t i = 0; i < block.element.planes(); ++i) {
      names.push_back(plane_name(column.name, block.element, i));
    }
  }
  return names;
}

std::vector<std::string> column_names(const std::vector<ArgumentDescription>& arguments) {
  std::map<std::string, int> times;
  for (const ArgumentDescription& argument : arguments) {
    for (const std::string& name : plane_names(*argument.block)) ++times[name];
  }
  std::vector<std::string> names;
  for (const ArgumentDescription& argument : arguments) {
    for (const std::string& name : plane_names(*argument.block)) {
      names.push_back(times[name] > 1 ? argument.block->name + '.' + name : name);
    }
  }
  return names;
}

std::map<std::string, std::string> names_in_data(const ModelDescription& model,
                                                 const std::vector<std::string>& columns,
                                                 const std::string& option) {
  const std::vector<std::string> ours = column_names(model.inputs);
  std::set<std::string> known(ours.begin(), ours.end());
  for (const ArgumentDescription& input : model.inputs) {
    for (const std::string& name : plane_names(*input.block)) {
      known.insert(name);
      known.insert(input.block->name + '.' + name);
    }
  }
  const auto unknown = [&](const std::string& name) {
    return option + ": the model has no column " + name + "; it has " + listed(ours) +
           nearest_of(name, ours);
  };
  std::map<std::string, std::string> names;
  std::vector<std::string> plain;
  for (const std::string& entry : columns) {
    const auto equals = entry.find('=');
    if (equals == std::string::npos) {
      plain.push_back(entry);
      continue;
    }
    const std::string name = entry.substr(equals + 1);
    if (!known.contains(name)) throw ConfigError(unknown(name));
    names[name] = entry.substr(0, equals);
  }
  const auto is_known = [&](const std::string& name) { return known.contains(name); };
  if (std::ranges::all_of(plain, is_known)) {
    for (const std::string& name : plain) names[name] = name;
    return names;
  }
  if (!names.empty() || std::ranges::any_of(plain, is_known)) {
    throw ConfigError(unknown(*std::ranges::find_if_not(plain, is_known)) +
                      "; DATA_NAME=MODEL_NAME says which one it is");
  }
  if (plain.size() != ours.size()) {
    throw ConfigError(option + ": got " + std::to_string(plain.size()) +
                      " names that are not the model's, expected " + std::to_string(ours.size()) +
                      ", in the order of its columns: " + listed(ours));
  }
  for (std::size_t i = 0; i < plain.size(); ++i) names[ours[i]] = plain[i];
  return names;
}

}  // namespace tensoa::package
