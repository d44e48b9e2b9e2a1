// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/triton/wire.hpp"

#include <algorithm>
#include <cctype>

#include "tensoa/core/error.hpp"

namespace tensoa::triton {
namespace {

constexpr std::size_t kLongestName = 128;

bool is_allowed(const std::string& name) {
  return !name.empty() && name.size() <= kLongestName &&
         std::ranges::all_of(name, [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
         });
}

WireBlock wire_block(const package::ArgumentDescription& argument, const std::string& subject) {
  if (!argument.block) {
    throw LoadError(subject + "does not state the columns of \"" + argument.name +
                    "\"; serve a package (tensoa compile)");
  }
  if (!is_allowed(argument.block->name)) {
    throw LoadError(subject + "got the block name \"" + argument.block->name +
                    "\", expected 1 to 128 letters, digits, '_', '-' or '.', which is the name of "
                    "its tensor in Triton; rename the block and export again");
  }
  WireBlock wire{.block = *argument.block,
                 .planes = static_cast<std::int64_t>(argument.block->columns.size() *
                                                     argument.block->element.planes()),
                 .collection = argument.collection,
                 .rows = argument.rows};
  return wire;
}

}  // namespace

std::string_view kserve_name(DType dtype) noexcept {
  switch (dtype) {
    case DType::kBool:
      return "BOOL";
    case DType::kU8:
      return "UINT8";
    case DType::kI8:
      return "INT8";
    case DType::kI16:
      return "INT16";
    case DType::kI32:
      return "INT32";
    case DType::kI64:
      return "INT64";
    case DType::kF16:
      return "FP16";
    case DType::kBF16:
      return "BF16";
    case DType::kF32:
      return "FP32";
    case DType::kF64:
      return "FP64";
  }
  return "INVALID";
}

std::string WireBlock::type() const {
  return std::string(kserve_name(dtype())) + "[1, " + std::to_string(planes) +
         (is_scalar() ? ", 1]" : ", n]");
}

Wire wire_of(const package::ModelDescription& model, const std::string& subject) {
  if (!model.binding) {
    throw LoadError(subject +
                    "does not state which columns it is made for; serve a package (tensoa "
                    "compile) or a tree file");
  }
  Wire wire;
  wire.match = model.binding->match;
  for (const auto& input : model.inputs) wire.inputs.push_back(wire_block(input, subject));
  for (const auto& output : model.outputs) wire.outputs.push_back(wire_block(output, subject));
  if (wire.inputs.empty() || wire.outputs.empty()) {
    throw LoadError(subject + "has " + std::to_string(wire.inputs.size()) + " inputs and " +
                    std::to_string(wire.outputs.size()) +
                    " outputs, expected 1 of each at least: Triton serves no others");
  }
  for (const WireBlock& output : wire.outputs) {
    if (std::ranges::find(wire.inputs, output.name(), &WireBlock::name) == wire.inputs.end())
      continue;
    throw LoadError(subject + "has an input and an output block called \"" + output.name() +
                    "\", expected different names: they are tensors of one Triton model; rename "
                    "one and export again");
  }
  return wire;
}

}  // namespace tensoa::triton
