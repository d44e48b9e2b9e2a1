// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "compile/questions.hpp"
#include "compile/tree_shape.hpp"
#include "kernels/hints.hpp"
#include "tensoa/forest/ensemble.hpp"

// Deep trees, node by node.

namespace tensoa::forest {

/// A leaf tests for a bin that no value has, and leads to itself.
struct FollowedNode {
  static constexpr std::uint32_t kLeafBin = kMissingBin + 1;

  std::uint32_t bin;
  std::uint32_t feature;
  std::uint32_t left;   ///< in Followed::nodes
  std::uint32_t right;  ///< of a leaf: the first of its values in Ensemble::leaf_values
};

struct FollowedTree {
  std::uint32_t root;  ///< in Followed::nodes
  std::uint32_t depth;
};

/// The trees that are deeper than kDeepestFull, with the neighbours that single rows follow together with them; or all, where
/// bins are too many for packed nodes.
struct Followed {
  static constexpr std::uint32_t kNotFollowed = 0xFFFF'FFFF;
  static constexpr std::size_t kTogether = 8;  ///< neighbours: 0 to 7, 8 to 15, …

  /// @param all also those that are not so deep
  Followed(const Ensemble& ensemble, const Questions& questions,
           const std::vector<TreeShape>& shapes, bool all);

  std::vector<FollowedNode> nodes;
  std::vector<FollowedTree> trees;
  std::vector<std::uint32_t> of_tree;  ///< of each tree of the ensemble its number here
};

/// Whether lanes of follow() are rows of one tree, or trees of one row.
enum class Lanes : std::uint8_t { kRows, kTrees };

/// Follows nodes in kLanes lanes at the same time, so that their loads are waited for together.
/// @param at of each lane the root, and then the leaf
/// @param depth of the deepest tree
/// @param bins of the first row for each feature, `stride` apart; those of the next row lie one after them. Of a single row
/// they are 1 apart
template <int kLanes, Lanes kKind>
void follow(const FollowedNode* nodes, std::uint32_t depth, const std::uint32_t* bins,
            std::size_t stride, std::uint32_t* at) noexcept {
  std::uint32_t lanes[kLanes];  // in registers: `at` could be memory of nodes
  TENSOA_UNROLL
  for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = at[lane];
  for (std::uint32_t level = 0; level < depth; ++level) {
    TENSOA_UNROLL
    for (int lane = 0; lane < kLanes; ++lane) {
      const FollowedNode& node = nodes[lanes[lane]];
      const std::size_t place = kKind == Lanes::kRows
                                    ? node.feature * stride + static_cast<std::size_t>(lane)
                                    : node.feature;
      lanes[lane] = bins[place] >= node.bin ? node.right : node.left;
    }
  }
  TENSOA_UNROLL
  for (int lane = 0; lane < kLanes; ++lane) at[lane] = lanes[lane];
}

}  // namespace tensoa::forest
