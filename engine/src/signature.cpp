// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/engine/signature.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "tensoa/core/error.hpp"

namespace tensoa {

std::string TensorSpec::type() const {
  std::string text(dtype ? name_of(*dtype) : "tensor");
  if (!sizes) return text;
  std::string list;
  for (const std::int64_t size : *sizes) {
    list += (list.empty() ? "" : ", ") + (size == kAnySize ? "?" : std::to_string(size));
  }
  return text + '[' + list + ']';
}

TensorSpec spec_of(const BlockDescription& block) {
  const auto columns = static_cast<std::int64_t>(block.columns.size());
  const FieldInfo& element = block.element;
  std::vector<std::int64_t> sizes;
  if (block.shape == BlockShape::kColumns) {
    sizes = {columns, kAnySize};
  } else {
    sizes = {kAnySize};
    if (!element.has_planes() || columns > 1) sizes.push_back(columns);
    if (element.has_planes()) sizes.push_back(static_cast<std::int64_t>(element.rows));
    if (element.kind == ColumnKind::kMatrix) {
      sizes.push_back(static_cast<std::int64_t>(element.columns));
    }
  }
  return {.name = block.name, .dtype = block.dtype, .sizes = std::move(sizes), .block = block};
}

namespace {

std::string list_of(const std::vector<TensorSpec>& places) {
  std::string text;
  for (const TensorSpec& place : places) text += (text.empty() ? "" : ", ") + place.name;
  return text;
}

std::string text_of(const TensorSpec& spec) {
  return (spec.name.empty() ? "" : '"' + spec.name + "\" ") + spec.type();
}

/// The description of the block of a spec, without its name and sizes.
auto described(const BlockDescription& block) {
  const FieldInfo& element = block.element;
  return std::tuple(block.collection, block.shape, element.kind, element.dtype, element.rows,
                    element.columns, block.columns);
}

std::string difference_of_list(const std::string& what, const std::vector<TensorSpec>& expected,
                               const std::vector<TensorSpec>& got) {
  if (expected.size() != got.size()) {
    return "it has " + std::to_string(got.size()) + ' ' + what + "s, expected " +
           std::to_string(expected.size());
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const TensorSpec& a = expected[i];
    const TensorSpec& b = got[i];
    const std::string which = what + ' ' + std::to_string(i + 1);
    if (a.name != b.name || a.dtype != b.dtype || a.sizes != b.sizes) {
      return which + " is " + text_of(b) + ", expected " + text_of(a);
    }
    if (a.block.has_value() != b.block.has_value() ||
        (a.block && described(*a.block) != described(*b.block))) {
      return which + " (" + text_of(a) + ") is made for other columns";
    }
  }
  return "";
}

}  // namespace

std::string detail::difference(const Signature& expected, const Signature& got) {
  if (std::string inputs = difference_of_list("input", expected.inputs, got.inputs);
      !inputs.empty()) {
    return inputs;
  }
  if (expected.required_inputs != got.required_inputs) {
    return std::to_string(got.required_inputs) + " of its inputs have no default, expected " +
           std::to_string(expected.required_inputs);
  }
  return difference_of_list("output", expected.outputs, got.outputs);
}

Matched match_names(Match match, std::span<const BoundBlock> blocks,
                    std::span<const TensorSpec> places) {
  if (match != Match::kAuto) return {match == Match::kByName, nullptr};
  const BoundBlock* misplaced = nullptr;
  bool by_name = true;
  bool is_in_order = blocks.size() <= places.size();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto place = std::ranges::find(places, blocks[i].name, &TensorSpec::name);
    const auto at = static_cast<std::size_t>(place - places.begin());
    is_in_order = is_in_order && at == i;
    by_name = by_name && place != places.end();
    if (place != places.end() && at != i && misplaced == nullptr) misplaced = &blocks[i];
  }
  if (is_in_order) return {false, nullptr};
  return {by_name, by_name ? nullptr : misplaced};
}

std::vector<std::size_t> match_arguments(const Binding& binding, const Signature& signature,
                                         const std::string& subject) {
  const std::vector<TensorSpec>& places = signature.inputs;
  const auto fail = [&](const std::string& got) {
    throw BindingError(subject + " takes " + std::to_string(places.size()) + " inputs (" +
                       list_of(places) + "), got " + got);
  };
  std::vector<std::size_t> arguments(binding.inputs.size());
  const Matched matched = match_names(binding.match, binding.inputs, places);
  if (!matched.by_name) {
    if (arguments.size() < signature.required_inputs || arguments.size() > places.size()) {
      fail(std::to_string(arguments.size()) + " blocks");
    }
    if (const BoundBlock* block = matched.misplaced) {
      fail("block \"" + block->name + "\" as number " +
           std::to_string(block - binding.inputs.data() + 1) +
           "; name all blocks as their arguments, which may then stand in any order, or rename "
           "this one, or request Match::kByOrder");
    }
    std::iota(arguments.begin(), arguments.end(), std::size_t{0});
    return arguments;
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = binding.inputs[i].name;
    const auto place = std::ranges::find(places, name, &TensorSpec::name);
    if (place == places.end()) {
      fail("a block called \"" + name + "\"; name blocks as the arguments, or match by order");
    }
    arguments[i] = static_cast<std::size_t>(place - places.begin());
  }
  for (std::size_t i = 0; i < signature.required_inputs; ++i) {
    if (std::ranges::find(arguments, i) == arguments.end()) {
      fail("no block called \"" + places[i].name + "\", which has no default");
    }
  }
  return arguments;
}

}  // namespace tensoa
