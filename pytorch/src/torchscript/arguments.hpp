// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <string>

#include "tensoa/engine/copy_report.hpp"
#include "tensoa/engine/model_metadata.hpp"
#include "tensoa/soa/bound_block.hpp"
#include "torchscript/scratch.hpp"

namespace tensoa::pytorch {

/// Returns the tensor of an input block: the columns themselves, or, for the other forms and where the
/// model may write it, a copy in scratch memory, enqueued on `queue` and counted.
/// @param i place in the scratch memory
/// @throws as write_argument
at::Tensor argument_of(const Queue& queue, const BoundBlock& block, bool is_written, std::size_t i,
                       ScratchPool::LoanWhenNeeded& scratch, CopyReport& copies);

/// `; inputs: block "x" (columns r, z) float32[100, 2] on cpu, …`: what a failed call was given.
/// More than 12 columns are a number.
std::string describe_inputs(const Binding& binding);

}  // namespace tensoa::pytorch
