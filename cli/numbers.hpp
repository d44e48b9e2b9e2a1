// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "tensoa/core/dtype.hpp"

namespace tensoa::cli {

/// Returns the number of `dtype` at a place in memory.
double number_at(const std::byte* place, DType dtype);

}  // namespace tensoa::cli
