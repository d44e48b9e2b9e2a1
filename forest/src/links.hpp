// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "tensoa/forest/ensemble.hpp"

namespace tensoa::forest {

/// Answers from margins, in place.
/// @param margins of `n` rows for each output; those of the next output lie `stride` after them
template <class Sum>
void apply(Link link, double scale, Sum* margins, std::size_t outputs, std::size_t stride,
           int n) noexcept;

}  // namespace tensoa::forest
