// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "tensoa/forest/ensemble.hpp"

namespace tensoa::forest {

/// Appends a tree whose nodes are in any order, the root first, level after level. Nodes that nothing leads to are left out.
/// @param nodes of the file
/// @param node_of the node with this number in the file, with such numbers as its children
/// @throws std::runtime_error that names the node where children are not there or are led to twice
template <class NodeOf>
void append_tree(Ensemble& ensemble, std::size_t nodes, std::uint32_t output,
                 const NodeOf& node_of) {
  std::vector<std::uint32_t> order = {0};  // numbers in the file, in the order here
  std::vector<bool> is_seen(nodes);
  is_seen[0] = true;
  const auto place_of = [&](std::uint32_t parent, std::uint32_t child) {
    if (child >= nodes) {
      throw std::runtime_error("node " + std::to_string(parent) + " leads to node " +
                               std::to_string(static_cast<std::int32_t>(child)) +
                               ", expected 1 to " + std::to_string(nodes - 1));
    }
    if (is_seen[child]) {
      throw std::runtime_error("node " + std::to_string(parent) + " leads to node " +
                               std::to_string(child) + ", to which another one leads, too");
    }
    is_seen[child] = true;
    order.push_back(child);
    return static_cast<std::uint32_t>(order.size() - 1);
  };
  const std::size_t first = ensemble.nodes.size();
  for (std::size_t i = 0; i < order.size(); ++i) {
    Node node = node_of(order[i]);
    if (!node.is_leaf()) {
      node.left = place_of(order[i], node.left);
      node.right = place_of(order[i], node.right);
    }
    ensemble.nodes.push_back(node);
  }
  if (ensemble.nodes.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw std::runtime_error("the trees have too many nodes");
  }
  ensemble.trees.push_back(
      {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(order.size()), output});
}

}  // namespace tensoa::forest
