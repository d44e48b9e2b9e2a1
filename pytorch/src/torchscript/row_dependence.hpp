// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <cstddef>
#include <string>
#include <vector>

#include "tensoa/engine/model_metadata.hpp"
#include "tensoa/engine/row_dependence.hpp"

namespace tensoa::pytorch {

/// Whether rows of the columns of a binding depend on each other in a frozen module: its graph is run on tensors
/// of zeros. Branches and loops are followed where no number of rows decides.
/// @param arguments of each input block the number of its argument
RowDependence row_dependence(const torch::jit::Module& module, const Binding& binding,
                             const std::vector<std::size_t>& arguments);

}  // namespace tensoa::pytorch
