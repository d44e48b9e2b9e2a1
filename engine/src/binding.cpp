// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "tensoa/core/error.hpp"
#include "tensoa/engine/plan.hpp"

namespace tensoa {

bool Binding::is_empty() const noexcept {
  return !outputs.empty() &&
         std::all_of(outputs.begin(), outputs.end(),
                     [](const BoundBlock& block) { return block.tensor.elements() == 0; });
}

void check(const Binding& binding) {
  const BoundBlock* first = nullptr;
  for (const auto* blocks : {&binding.inputs, &binding.outputs}) {
    for (const BoundBlock& block : *blocks) {
      if (first == nullptr) first = &block;
      if (block.tensor.device != first->tensor.device) {
        throw BindingError("block \"" + block.name + "\" lies on " +
                           to_string(block.tensor.device) + ", block \"" + first->name + "\" on " +
                           to_string(first->tensor.device) +
                           "; all blocks of a call lie on one device");
      }
    }
  }
  for (const BoundBlock& block : binding.outputs) {
    if (block.tensor.read_only) {
      throw BindingError(
          "block \"" + block.name +
          "\": an output is bound to a const view; use view() instead of const_view()");
    }
    if (block.tensor.stride_of_dim[0] == 0 && block.tensor.size_of_dim[0] > 1) {
      throw BindingError("block \"" + block.name +
                         "\": an output is bound to a scalar, which cannot hold " +
                         std::to_string(block.tensor.size_of_dim[0]) + " rows; use a column");
    }
  }
}

namespace detail {

void rebind(std::span<BoundBlock> blocks, std::size_t collection,
            std::span<const ColumnRecord> columns) {
  std::array<ColumnRecord, kMaxFields> chosen;
  for (BoundBlock& block : blocks) {
    if (block.collection != collection) continue;
    for (std::size_t i = 0; i < block.fields.size(); ++i) chosen[i] = columns[block.fields[i]];
    block.tensor = bind_columns({chosen.data(), block.fields.size()}, columns.front().size, block);
  }
}

}  // namespace detail
}  // namespace tensoa
