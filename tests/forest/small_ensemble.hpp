// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensoa/forest/ensemble.hpp"

namespace tensoa::test {

inline forest::Node inner(std::int32_t column, double threshold, std::uint32_t left,
                          std::uint32_t right) {
  forest::Node node;
  node.column = column;
  node.threshold = threshold;
  node.left = left;
  node.right = right;
  return node;
}

inline forest::Node leaf(std::uint32_t value) {
  forest::Node node;
  node.left = value;
  return node;
}

/// Three columns, two outputs, a tree for each: one with a number, one with a set, {1, 70}, and two ways to one leaf.
inline forest::Ensemble small_ensemble() {
  forest::Ensemble all;
  all.columns = 3;
  all.column_names = {"pt", "eta", "station \"µ\""};
  all.outputs = 2;
  all.trees = {{0, 3, 0}, {3, 5, 1}};
  all.nodes = {inner(0, 0.5, 1, 2),
               leaf(0),
               leaf(1),  // tree 0
               inner(2, 0, 1, 2),
               inner(1, -1.25, 3, 4),
               leaf(3),
               leaf(2),
               leaf(3)};
  all.nodes[3].test = forest::Test::kInSet;
  all.nodes[3].missing = forest::Missing::kNanRight;
  all.nodes[4].test = forest::Test::kGreater;
  all.nodes[4].missing = forest::Missing::kZeroRight;
  all.nodes[4].right = 2;
  all.leaf_values = {-1, 1, 0.25, 4};
  all.sets = {{0, 2}};
  all.set_words = {1U << 1U, 1U << 6U};
  all.base = {0.125, -0.5};
  all.factor = 0.5;
  all.divisor = 3;
  all.sums = forest::Precision::kFloat64;
  all.link = forest::Link::kSigmoid;
  all.link_scale = 2;
  all.source = "by hand";
  all.objective = "binary";
  all.classes = {"background", "signal"};
  return all;
}

}  // namespace tensoa::test
