// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "exported/signature.hpp"

#include "runtime/tensors.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::pytorch::exported {
namespace {

TensorSpec spec_of_value(const Value& value, std::string name) {
  TensorSpec spec{.name = std::move(name)};
  if (!value.meta) return spec;
  spec.dtype = from_torch(value.meta->dtype);
  spec.sizes.emplace();
  for (const Size& size : value.meta->sizes) {
    spec.sizes->push_back(size.fixed().value_or(kAnySize));
  }
  return spec;
}

}  // namespace

ProgramSignature::ProgramSignature(const Program& program, const Memory& memory)
    : result_names_(program.output_names), symbols_(program.symbols.count()) {
  for (const ValueId input : program.inputs) {
    const Value& value = program.values[input];
    signature_.inputs.push_back(spec_of_value(value, value.name));
    inputs_.push_back({input, memory.is_written(input), value.meta});
  }
  signature_.required_inputs = inputs_.size();
  for (std::size_t i = 0; i < program.outputs.size(); ++i) {
    signature_.outputs.push_back(spec_of_value(program.values[program.outputs[i]],
                                               program.output_names[i].name.value_or("")));
  }
}

bool ProgramSignature::loses_a_dimension(std::size_t argument, const BoundBlock& block) const {
  const auto& meta = inputs_[argument].meta;
  return meta && meta->sizes.size() == 1 && block.tensor.rank == 2 && block.columns.size() == 1 &&
         block.tensor.size_of_dim[1] == 1;
}

void ProgramSignature::require_fitting(std::size_t argument, const BoundBlock& block,
                                       const std::string& subject) const {
  const Input& input = inputs_[argument];
  if (!input.meta) return;
  const TensorSpec& spec = signature_.inputs[argument];
  const std::size_t rank = block.tensor.rank - (loses_a_dimension(argument, block) ? 1U : 0U);
  if (to_torch(block.tensor.dtype) != input.meta->dtype || rank != input.meta->sizes.size()) {
    throw BindingError(subject + "takes " + spec.name + " as " + spec.type() + ", got " +
                       to_string(block) + ' ' + to_string(block.tensor) +
                       "; bind columns of that dtype and shape (Repack converts), or export it "
                       "with example inputs such as these");
  }
  Size::Values symbols(symbols_, Size::kUnknown);
  bind_symbols(argument, block, symbols, subject);
}

void ProgramSignature::bind_symbols(std::size_t argument, const BoundBlock& block,
                                    Size::Values& symbols, const std::string& subject) const {
  const auto& meta = inputs_[argument].meta;
  if (!meta) return;
  for (std::size_t dim = 0; dim < meta->sizes.size(); ++dim) {
    const Size& size = meta->sizes[dim];
    const std::int64_t got = block.tensor.size_of_dim[dim];
    if (const auto symbol = size.symbol(); symbol && symbols[*symbol] == Size::kUnknown) {
      symbols[*symbol] = got;
      continue;
    }
    const auto expected = size.value(symbols);
    if (!expected || *expected == got) continue;
    const std::string& name = signature_.inputs[argument].name;
    const std::string in_dimension = std::to_string(dim);
    std::string place = subject;
    place.append("takes ").append(name).append(" with the size ");
    place.append(std::to_string(*expected)).append(" in dimension ").append(in_dimension);
    place.append(", got ").append(to_string(block)).append(" ").append(to_string(block.tensor));
    if (size.fixed() && dim == block.row_dimension()) {
      place.append("; its number of rows is fixed in the file: export it with dynamic_shapes={\"");
      place.append(name).append("\": {").append(in_dimension);
      place.append(": torch.export.Dim.DYNAMIC}}, or with python -m tensoa.export --just-in-time");
      throw BindingError(place);
    }
    throw BindingError(
        place + (size.fixed() ? "; bind that number of columns"
                              : "; other arguments have this size: bind that number of rows"));
  }
}

}  // namespace tensoa::pytorch::exported
