// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>

#include "tensoa/engine/copy_report.hpp"
#include "tensoa/soa/bound_block.hpp"
#include "torchscript/scratch.hpp"

namespace tensoa::pytorch {

/// The tensor of an input block: the columns themselves, or, for the other forms and where the model
/// may write it, a copy in scratch memory, made on the current stream and counted.
/// @param i place in the scratch memory
/// @throws BindingError for offsets that are not ascending or lead out of the collection (CPU only;
///     on a GPU they are held inside)
at::Tensor argument_of(const BoundBlock& block, bool is_written, std::size_t i,
                       ScratchPool::LoanWhenNeeded& scratch, CopyReport& copies);

/// Column `column` of a repacked block, in a tensor of the block's shape.
at::Tensor column_of(const BoundBlock& block, const at::Tensor& tensor, std::size_t column);

}  // namespace tensoa::pytorch
