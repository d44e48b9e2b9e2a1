// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tensoa/core/queue.hpp"
#include "tensoa/engine/copy_report.hpp"
#include "tensoa/engine/model_metadata.hpp"

namespace tensoa::pytorch {

/// The name of a result of a model.
struct ResultName {
  std::optional<std::string> name = {};  ///< of the block that it goes to
  bool is_member = false;                ///< the name is that of a member of a named tuple
};

/// Of each output block the number of the result that goes to it, as results_for says.
/// @throws BindingError where a block finds no result or a result no block
std::vector<std::size_t> results_of_blocks(const std::vector<ResultName>& results,
                                           const std::vector<BoundBlock>& blocks, Match match,
                                           const std::string& subject);

/// Whether a result of these sizes goes to the block. (A block of one plain column takes [n] and [n, 1].)
bool sizes_fit(at::IntArrayRef sizes, const BoundBlock& block);

/// @throws BindingError where shape, dtype or device are not exactly those of the block
void require_fitting(const at::Tensor& result, const BoundBlock& block, const std::string& subject);

/// The tensors that a model gave, one for each output block, in the order of the blocks.
///
/// The entries of a dict go to the blocks of their keys, the members of a named tuple to the blocks of
/// their names where the binding matches by name. All others, those of tuples and lists at any depth,
/// take the blocks that are left, in order.
/// @param subject "model FILE: ", the beginning of messages
/// @throws BindingError when there are other things than tensors in it, a block finds no result or a
///     result no block, or shape, dtype or device are not exactly those of the block. (A block of one
///     plain column takes [n] and [n, 1].)
std::vector<at::Tensor> results_for(const c10::IValue& value, const Binding& binding,
                                    const std::string& subject);

/// Copies the results into the columns of the output blocks, on `queue`, which is torch's current stream.
/// A result that lies where an output is written before or while it is read is copied first.
/// @param results one for each output block; undefined where it is in the columns already
void write_results(const Queue& queue, std::vector<at::Tensor> results, const Binding& binding,
                   CopyReport& copies);

}  // namespace tensoa::pytorch
