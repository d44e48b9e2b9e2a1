// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "facts.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>

#include "compile/tree_shape.hpp"

namespace tensoa::forest {
namespace {

/// The kinds of tests of a column.
struct TestsOfColumn {
  std::vector<double> thresholds;  ///< ascending, no two alike
  bool has_sets = false;
};

/// Of the columns that some test is of: a file may count many more.
std::map<std::size_t, TestsOfColumn> tests_of(const Ensemble& ensemble) {
  std::map<std::size_t, TestsOfColumn> columns;
  for (const Node& node : ensemble.nodes) {
    if (node.is_leaf()) continue;
    TestsOfColumn& column = columns[static_cast<std::size_t>(node.column)];
    if (node.asks_set()) {
      column.has_sets = true;
    } else {
      column.thresholds.push_back(node.threshold);
    }
  }
  for (auto& [_, column] : columns) {
    std::ranges::sort(column.thresholds);
    const auto again = std::ranges::unique(column.thresholds);
    column.thresholds.erase(again.begin(), again.end());
  }
  return columns;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

std::string missing_values(const Ensemble& ensemble) {
  bool with_zero = false;
  bool left = false;
  bool right = false;
  for (const Node& node : ensemble.nodes) {
    if (node.is_leaf()) continue;
    const Missing missing = node.missing;
    with_zero |= missing == Missing::kZeroLeft || missing == Missing::kZeroRight;
    const bool goes_left = missing == Missing::kNanLeft || missing == Missing::kZeroLeft;
    (goes_left ? left : right) = true;
  }
  if (!left && !right) return {};
  return std::string(with_zero ? "NaN, at some nodes 0 too" : "NaN") +
         (left && right ? ": left or right, as each node says"
          : left        ? ": left"
                        : ": right");
}

}  // namespace

std::vector<std::pair<std::string, std::string>> facts_of(const Ensemble& ensemble) {
  const std::map<std::size_t, TestsOfColumn> columns = tests_of(ensemble);
  std::vector<std::string> thresholds;
  std::vector<std::string> categories;
  std::size_t most = 0;
  for (const auto& [i, tests] : columns) {
    const std::string name =
        ensemble.column_names.empty() ? std::to_string(i) : ensemble.column_names[i];
    const std::size_t count = tests.thresholds.size();
    most = std::max(most, count);
    if (count > 0) thresholds.push_back(name + ' ' + std::to_string(count));
    if (tests.has_sets) categories.push_back(name);
  }
  std::uint32_t deepest = 0;
  for (const Tree& tree : ensemble.trees)
    deepest = std::max(deepest, shape_of(ensemble, tree).depth);
  std::vector<std::pair<std::string, std::string>> facts = {
      {"trained by", ensemble.source},
      {"objective", ensemble.objective},
      {"classes", joined(ensemble.classes)},
      {"answers", ensemble.link == Link::kNone ? "margins" : std::string(name_of(ensemble.link))},
      {"features", std::to_string(ensemble.columns) + ", " + std::to_string(columns.size()) +
                       " of them in tests"},
      {"trees", std::to_string(ensemble.trees.size())},
      {"leaves", std::to_string(std::ranges::count_if(ensemble.nodes, &Node::is_leaf))},
      {"deepest", std::to_string(deepest)},
      {"missing values", missing_values(ensemble)},
      {"thresholds of a column", std::to_string(most) + " at most"},
      {"thresholds by column", joined(thresholds)},
      {"columns of categories", joined(categories)},
  };
  std::erase_if(facts, [](const auto& fact) { return fact.second.empty(); });
  return facts;
}

}  // namespace tensoa::forest
