// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tensoa/core/tensor_view.hpp"
#include "tensoa/soa/bound_block.hpp"

namespace tensoa::remote {

/// In which order the elements of a block travel.
enum class WireOrder : std::uint8_t {
  kRows,    ///< as the tensor, row-major: what models expect in general
  kPlanes,  ///< plane after plane, as columns lie in memory: what tensoa's back-end takes
};

/// The tensors over the memory of `block` whose elements, row-major and one tensor after the other, are what
/// travels. Empty where its elements are made first (write_argument): ragged forms, and repacked columns that
/// are interleaved or converted.
/// @param dtype of the elements as they travel
std::vector<TensorView> wire_views(const BoundBlock& block, WireOrder order, DType dtype);

}  // namespace tensoa::remote
