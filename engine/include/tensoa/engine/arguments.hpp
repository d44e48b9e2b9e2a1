// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensoa/core/queue.hpp"
#include "tensoa/core/tensor_view.hpp"
#include "tensoa/engine/copy_report.hpp"
#include "tensoa/soa/bound_block.hpp"

/// @file
/// The copies that the forms of blocks stand for, for engines that read tensors. Users of models do not
/// need this header.

namespace tensoa {

/// Writes the tensor of an input block into memory of the engine, on the CPU or on a GPU: the columns as
/// they are (for an engine that may write the input), repacked columns, padded rows, a mask or segments.
/// @param to of the sizes and dtype of `block.tensor`; row-major for padded rows, masks and segments
/// @param copies the bytes are added to it
/// @throws BindingError for offsets that are not ascending or lead out of the collection, on the CPU; on
/// a GPU they are limited to it. ConfigError where this build has no kernels for a GPU; DeviceError
/// *Stream order*: enqueued on `queue`, does not wait.
void write_argument(const Queue& queue, const BoundBlock& block, const TensorView& to,
                    CopyReport& copies);

/// Copies a result to the columns of an output block that is repacked.
/// @param result of the sizes and dtype of `block.tensor`
/// @throws as write_argument *Stream order*: as write_argument.
void write_columns(const Queue& queue, const TensorView& result, const BoundBlock& block,
                   CopyReport& copies);

}  // namespace tensoa
