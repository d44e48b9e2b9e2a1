// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tensoa/forest/ensemble.hpp"

/// @file
/// Random ensembles of every form, and values that lie where a test changes its answer.

namespace tensoa::test {

class RandomEnsemble {
 public:
  explicit RandomEnsemble(std::uint32_t seed) : random_(seed) {}

  forest::Ensemble make() {
    forest::Ensemble all;
    all.columns = 1 + below(12);
    all.sums = below(2) == 0 ? forest::Precision::kFloat32 : forest::Precision::kFloat64;
    all.features = below(2) == 0 ? forest::Precision::kFloat32 : forest::Precision::kFloat64;
    all.outputs = below(3) == 0 ? 1 + below(4) : 1;
    all.leaf_size = all.outputs > 1 && below(2) == 0 ? all.outputs : 1;
    for (std::size_t k = 0; k < all.outputs; ++k) all.base.push_back(number());
    all.base_is_last = below(3) == 0;
    if (below(3) == 0) all.factor = 0.3;
    if (below(3) == 0) all.divisor = 7;
    has_sets_ = below(2) == 0;
    has_zeros_ = below(3) == 0;
    columns_tested_ = below(3) == 0 ? 1 : all.columns;
    const std::size_t depth = below(4) == 0 ? 9 + below(8) : below(9);
    const std::size_t full = below(3);  // how rarely a branch ends early
    for (std::size_t t = 0; t < 1 + below(40); ++t) {
      forest::Tree tree{.first_node = static_cast<std::uint32_t>(all.nodes.size())};
      tree.output = all.leaf_size > 1 ? 0 : static_cast<std::uint32_t>(t % all.outputs);
      add(all, depth, full);
      tree.nodes = static_cast<std::uint32_t>(all.nodes.size()) - tree.first_node;
      all.trees.push_back(tree);
    }
    return all;
  }

  /// Values for one column: thresholds, their neighbours, and what is special.
  std::vector<double> values(const forest::Ensemble& all, std::size_t column, std::size_t n) {
    std::vector<double> thresholds;
    for (const forest::Node& node : all.nodes) {
      if (node.column == static_cast<std::int32_t>(column)) thresholds.push_back(node.threshold);
    }
    std::vector<double> values;
    for (std::size_t i = 0; i < n; ++i) values.push_back(value(thresholds));
    return values;
  }

  std::size_t below(std::size_t n) { return random_() % n; }

 private:
  double number() { return (static_cast<double>(below(20001)) - 10000) / 777; }

  double value(const std::vector<double>& thresholds) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double threshold = thresholds.empty() ? 0 : thresholds[below(thresholds.size())];
    switch (below(13)) {
      case 0:
      case 1:
        return threshold;
      case 2:
        return std::nextafter(static_cast<float>(threshold),
                              std::numeric_limits<float>::infinity());
      case 3:
        return std::nextafter(static_cast<float>(threshold),
                              -std::numeric_limits<float>::infinity());
      case 4:
        return std::nextafter(threshold, below(2) == 0 ? kInfinity : -kInfinity);
      case 5:
        return std::numeric_limits<double>::quiet_NaN();
      case 6:
        return below(2) == 0 ? kInfinity : -kInfinity;
      case 7:
        return below(2) == 0 ? -0.0 : 1e-42;
      case 8:
        return double{below(2) == 0 ? 1e-35F : -1e-35F};
      case 9:
      case 10:
        return static_cast<double>(below(140)) - 3;  // a category
      case 11:
        return -0.5;
      default:
        return number();
    }
  }

  std::uint32_t add(forest::Ensemble& all, std::size_t depth, std::size_t full) {
    const auto place = static_cast<std::uint32_t>(all.nodes.size());
    if (depth_ == 0) root_ = place;
    all.nodes.emplace_back();
    const bool ends = depth == 0 || (depth_ > 0 && below(4 + 20 * full) == 0);
    if (ends) {
      all.nodes[place].left = static_cast<std::uint32_t>(all.leaf_values.size());
      for (std::size_t k = 0; k < all.leaf_size; ++k) all.leaf_values.push_back(number());
      return place - root_;
    }
    forest::Node node;
    node.column = static_cast<std::int32_t>(below(columns_tested_));
    node.threshold = threshold();
    if (all.features == forest::Precision::kFloat32 && below(4) != 0) {
      node.threshold = static_cast<float>(node.threshold);
    }
    node.test = static_cast<forest::Test>(below(2));
    node.missing = static_cast<forest::Missing>(below(has_zeros_ ? 4 : 2));
    if (has_sets_ && below(4) == 0) {
      node.test = below(2) == 0 ? forest::Test::kInSet : forest::Test::kCutInSet;
      node.set = static_cast<std::uint32_t>(all.sets.size());
      const std::uint32_t words = 1 + static_cast<std::uint32_t>(below(2));
      all.sets.push_back({static_cast<std::uint32_t>(all.set_words.size()), words});
      for (std::uint32_t w = 0; w < words; ++w) all.set_words.push_back(random_());
    }
    ++depth_;
    // Deep trees are thin: one side of them ends.
    const bool is_thin = depth > 9;
    node.left = add(all, is_thin && below(2) == 0 ? 0 : depth - 1, full);
    node.right = add(all, depth - 1, full);
    --depth_;
    all.nodes[place] = node;
    return place - root_;
  }

  double threshold() {
    switch (below(30)) {
      case 0:
        return 0;
      case 1:
        return std::ldexp(number(), -140);
      case 2:
        return std::numeric_limits<double>::infinity();
      case 3:
        return -std::numeric_limits<double>::infinity();
      case 4:
        return 1e300;
      default:
        return number();
    }
  }

  std::mt19937_64 random_;
  std::uint32_t root_ = 0;
  std::size_t depth_ = 0;
  std::size_t columns_tested_ = 1;
  bool has_sets_ = false;
  bool has_zeros_ = false;
};

}  // namespace tensoa::test
