// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "torchscript/arguments.hpp"

#include "runtime/tensors.hpp"
#include "tensoa/engine/arguments.hpp"

namespace tensoa::pytorch {

at::Tensor argument_of(const Queue& queue, const BoundBlock& block, bool is_written, std::size_t i,
                       ScratchPool::LoanWhenNeeded& scratch, CopyReport& copies) {
  if (block.form == BlockForm::kInPlace && !is_written) return wrap(block.tensor);
  const TensorView copy = scratch->take(i, block.tensor);
  write_argument(queue, block, copy, copies);
  return wrap(copy);
}

std::string describe_inputs(const Binding& binding) {
  constexpr std::size_t kMostNamed = 12;
  std::string text = "; inputs: ";
  for (const BoundBlock& block : binding.inputs) {
    const std::size_t n = block.columns.size();
    text += &block == &binding.inputs.front() ? "" : ", ";
    text += n > kMostNamed ? "block \"" + block.name + "\" (" + std::to_string(n) + " columns)"
                           : to_string(block);
    text += ' ' + to_string(block.tensor);
  }
  return text;
}

}  // namespace tensoa::pytorch
