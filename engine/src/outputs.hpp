// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tensoa/soa/bound_block.hpp"

namespace tensoa {

/// Costs a few comparisons where the outputs lie apart as a whole, which is nearly always.
/// @throws BindingError naming the blocks when two outputs, or two planes of one, would be written to
/// the same memory
void require_apart(const std::vector<BoundBlock>& outputs);

}  // namespace tensoa
