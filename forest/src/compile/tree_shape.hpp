// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tensoa/forest/ensemble.hpp"

namespace tensoa::forest {

/// How large a tree is, as a tree: what two nodes lead to counts twice.
struct TreeShape {
  static constexpr std::uint32_t kMany = 1U << 20U;  ///< this many leaves, or more

  std::uint32_t leaves = 0;
  std::uint32_t depth = 0;  ///< of a single leaf, 0
};

TreeShape shape_of(const Ensemble& ensemble, const Tree& tree);

/// Trees up to this depth are arrays in which the nodes of a level follow each other.
inline constexpr std::uint32_t kDeepestFull = 8;

}  // namespace tensoa::forest
