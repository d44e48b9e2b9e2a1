// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>

#include "tree_peers.hpp"

namespace tensoa::peers {
namespace {

using forest::Ensemble;
using forest::Missing;
using forest::Node;

/// `x >= threshold` goes right.
struct PlainNode {
  float threshold;
  std::int32_t column;
  std::int32_t left, right;  ///< below 0: the leaf at minus one minus that
  bool is_nan_left;
};

/// The least float32 that goes right.
float threshold_of(const Node& node) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto near = static_cast<float>(node.threshold);
  const bool goes_right =
      node.test == forest::Test::kGreater ? near > node.threshold : near >= node.threshold;
  return goes_right ? near : std::nextafter(near, kInfinity);
}

template <class Sum>
class PlainTrees {
 public:
  explicit PlainTrees(const Ensemble& ensemble)
      : columns_(ensemble.columns), base_(static_cast<Sum>(ensemble.base[0])) {
    for (const forest::Tree& tree : ensemble.trees) {
      const std::span nodes(&ensemble.nodes[tree.first_node], tree.nodes);
      std::vector<std::int32_t> places;
      auto next = static_cast<std::int32_t>(nodes_.size());
      for (const Node& node : nodes) {
        if (node.is_leaf()) {
          leaves_.push_back(static_cast<Sum>(ensemble.leaf_values[node.left]));
          places.push_back(-static_cast<std::int32_t>(leaves_.size()));
        } else {
          places.push_back(next++);
        }
      }
      roots_.push_back(places[0]);
      for (const Node& node : nodes) {
        if (node.is_leaf()) continue;
        nodes_.push_back({threshold_of(node), node.column, places[node.left], places[node.right],
                          node.missing == Missing::kNanLeft});
      }
    }
  }

  void run(const float* row, std::int64_t n) {
    answers_.resize(std::max(answers_.size(), static_cast<std::size_t>(n)));
    for (std::size_t r = 0; r < static_cast<std::size_t>(n); ++r, row += columns_) {
      Sum sum = base_;
      for (std::int32_t at : roots_) {
        while (at >= 0) {
          const PlainNode& node = nodes_[static_cast<std::size_t>(at)];
          const float x = row[node.column];
          const bool left = std::isnan(x) ? node.is_nan_left : x < node.threshold;
          at = left ? node.left : node.right;
        }
        sum += leaves_[static_cast<std::size_t>(-1 - at)];
      }
      answers_[r] = sum;
    }
  }

  double answer(std::size_t row) const { return answers_[row]; }

 private:
  std::size_t columns_;
  Sum base_;
  std::vector<PlainNode> nodes_;
  std::vector<Sum> leaves_;
  std::vector<std::int32_t> roots_;
  std::vector<Sum> answers_;
};

template <class Sum>
TreePeer plain(const Ensemble& ensemble) {
  const auto trees = std::make_shared<PlainTrees<Sum>>(ensemble);
  return {"plain", [trees](const float* rows, std::int64_t n) { trees->run(rows, n); },
          [trees](std::size_t row) { return trees->answer(row); }};
}

}  // namespace

std::vector<TreePeer> plain_traversal(const Ensemble& ensemble) {
  const bool is_plain =
      ensemble.outputs == 1 && ensemble.leaf_size == 1 && !ensemble.base_is_last &&
      ensemble.factor == 1 && ensemble.divisor == 1 &&
      std::all_of(ensemble.nodes.begin(), ensemble.nodes.end(), [](const Node& node) {
        return node.is_leaf() || (!node.asks_set() && (node.missing == Missing::kNanLeft ||
                                                       node.missing == Missing::kNanRight));
      });
  if (!is_plain) return {};
  return {ensemble.sums == forest::Precision::kFloat32 ? plain<float>(ensemble)
                                                       : plain<double>(ensemble)};
}

}  // namespace tensoa::peers
