// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "compile/followed.hpp"

#include <algorithm>
#include <span>

namespace tensoa::forest {

Followed::Followed(const Ensemble& ensemble, const Questions& questions,
                   const std::vector<TreeShape>& shapes, bool all)
    : of_tree(ensemble.trees.size(), kNotFollowed) {
  const auto is_deep = [](const TreeShape& shape) { return shape.depth > kDeepestFull; };
  for (std::size_t t = 0; t < ensemble.trees.size(); ++t) {
    const auto neighbours = std::span(shapes).subspan(t / kTogether * kTogether);
    if (!all &&
        std::ranges::none_of(neighbours.first(std::min(kTogether, neighbours.size())), is_deep))
      continue;
    const Tree& tree = ensemble.trees[t];
    of_tree[t] = static_cast<std::uint32_t>(trees.size());
    const auto root = static_cast<std::uint32_t>(nodes.size());
    trees.push_back({root, shapes[t].depth});
    for (std::uint32_t i = 0; i < tree.nodes; ++i) {
      const Node& node = ensemble.nodes[tree.first_node + i];
      const Question& question = questions.of_node[tree.first_node + i];
      if (node.is_leaf()) {
        nodes.push_back({FollowedNode::kLeafBin, 0, root + i, node.left});
      } else {
        nodes.push_back({question.bin, question.feature, root + node.left, root + node.right});
      }
    }
  }
}

}  // namespace tensoa::forest
