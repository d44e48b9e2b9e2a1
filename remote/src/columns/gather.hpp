// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "tensoa/core/tensor_view.hpp"
#include "transport/payload.hpp"

namespace tensoa::remote {

/// Appends the elements of `view`, row-major: borrows those that lie side by side in stretches that are worth
/// it, copies the others.
/// @param view in host memory
/// @return the bytes that were copied
std::size_t append_elements(Payload& payload, const TensorView& view);

}  // namespace tensoa::remote
