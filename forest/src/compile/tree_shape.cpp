// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "compile/tree_shape.hpp"

#include <algorithm>

namespace tensoa::forest {

TreeShape shape_of(const Ensemble& ensemble, const Tree& tree) {
  std::vector<TreeShape> below(tree.nodes);
  for (std::uint32_t i = tree.nodes; i-- > 0;) {  // children come after their parent
    const Node& node = ensemble.nodes[tree.first_node + i];
    if (node.is_leaf()) {
      below[i] = {1, 0};
      continue;
    }
    const TreeShape left = below[node.left];
    const TreeShape right = below[node.right];
    below[i] = {std::min(left.leaves + right.leaves, TreeShape::kMany),
                std::max(left.depth, right.depth) + 1};
  }
  return below.front();
}

}  // namespace tensoa::forest
