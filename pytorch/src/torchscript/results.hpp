// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

#include "tensoa/core/queue.hpp"
#include "tensoa/engine/copy_report.hpp"
#include "tensoa/engine/model_metadata.hpp"

namespace tensoa::pytorch {

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
void write_results(const Queue& queue, std::vector<at::Tensor> results, const Binding& binding,
                   CopyReport& copies);

}  // namespace tensoa::pytorch
