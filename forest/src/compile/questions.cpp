// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "compile/questions.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "compile/thresholds.hpp"

namespace tensoa::forest {
namespace {

/// Numbers of the features, in the order of their first use.
class FeatureNumbers {
 public:
  explicit FeatureNumbers(std::vector<Feature>& features) : features_(features) {}

  std::uint32_t of(const Feature& feature) {
    const auto key = std::tuple(feature.column, feature.missing, feature.set, feature.cut_first);
    const auto [found, is_new] =
        numbers_.try_emplace(key, static_cast<std::uint32_t>(features_.size()));
    if (is_new) features_.push_back(feature);
    return found->second;
  }

 private:
  std::vector<Feature>& features_;
  std::map<std::tuple<std::uint32_t, Missing, std::int32_t, bool>, std::uint32_t> numbers_;
};

/// The questions about one column, whose values are compared as `Value`.
template <class Value>
class ColumnQuestions {
 public:
  void add(std::uint32_t node, const Node& test, Precision features) {
    nodes_.push_back({smallest_right<Value>(test.test, test.threshold, features), node});
  }

  std::vector<Value> thresholds() const {
    std::vector<Value> all;
    for (const auto& [value, node] : nodes_) {
      if (value) all.push_back(*value);
    }
    std::ranges::sort(all);
    const auto same = std::ranges::unique(all);
    all.erase(same.begin(), same.end());
    return all;
  }

  template <class SetBin>
  void number(const std::vector<Value>& thresholds, const SetBin& set_bin) const {
    for (const auto& [value, node] : nodes_) {
      if (!value) {
        set_bin(node, kMissingBin);
        continue;
      }
      const auto place = std::ranges::lower_bound(thresholds, *value) - thresholds.begin();
      set_bin(node, static_cast<std::uint32_t>(place + 1));
    }
  }

 private:
  std::vector<std::pair<std::optional<Value>, std::uint32_t>> nodes_;
};

}  // namespace

Questions::Questions(const Ensemble& ensemble, std::span<const DType> dtypes)
    : of_node(ensemble.nodes.size()) {
  std::vector<std::vector<std::uint32_t>> nodes_of(ensemble.columns);
  for (std::uint32_t i = 0; i < ensemble.nodes.size(); ++i) {
    const Node& node = ensemble.nodes[i];
    if (!node.is_leaf()) nodes_of[static_cast<std::size_t>(node.column)].push_back(i);
  }
  FeatureNumbers numbers(features);
  for (std::uint32_t column = 0; column < ensemble.columns; ++column) {
    if (nodes_of[column].empty()) continue;
    const auto used = static_cast<std::uint32_t>(columns.size());
    UsedColumn& last = columns.emplace_back(column, dtypes[column], Thresholds{});
    const auto compile = [&]<class Value>(Value /*of the domain*/) {
      ColumnQuestions<Value> of_column;
      for (const std::uint32_t i : nodes_of[column]) {
        const Node& node = ensemble.nodes[i];
        if (node.asks_set()) {
          const bool cut_first = node.test == Test::kCutInSet;
          of_node[i] = {
              numbers.of({used, node.missing, static_cast<std::int32_t>(node.set), cut_first}), 1};
        } else {
          of_node[i].feature = numbers.of({.column = used, .missing = node.missing});
          of_column.add(i, node, ensemble.features);
        }
      }
      auto thresholds = of_column.thresholds();
      of_column.number(thresholds,
                       [&](std::uint32_t i, std::uint32_t bin) { of_node[i].bin = bin; });
      last.thresholds = std::move(thresholds);
    };
    switch (domain_of(last.dtype)) {
      case Domain::kFloat:
        compile(float{});
        break;
      case Domain::kDouble:
        compile(double{});
        break;
      case Domain::kInt64:
        compile(std::int64_t{});
        break;
    }
  }
}

}  // namespace tensoa::forest
