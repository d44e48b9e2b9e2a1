// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tensoa/forest/ensemble.hpp"

/// @file
/// The margins and answers of an ensemble by plain traversal, as the documentation of Ensemble says: what compiled forms are
/// compared with.

namespace tensoa::test {

inline bool is_in(const forest::Ensemble& ensemble, const forest::Node& node, double x) {
  const forest::CategorySet& words = ensemble.sets[node.set];
  if (node.test == forest::Test::kCutInSet) x = std::trunc(x);
  if (!(x >= 0) || x >= 64.0 * words.words) return false;
  const auto category = static_cast<std::uint64_t>(x);
  const std::uint64_t word = ensemble.set_words[words.first_word + category / 64];
  return (word >> (category % 64) & 1U) != 0;
}

/// @param x as the framework sees it: already narrowed to float where `features` says so
inline bool goes_right(const forest::Ensemble& ensemble, const forest::Node& node, double x) {
  using forest::Missing;
  using forest::Test;
  const bool zero_is_missing =
      node.missing == Missing::kZeroLeft || node.missing == Missing::kZeroRight;
  if (std::isnan(x) || (zero_is_missing && std::abs(x) <= double{1e-35F})) {
    return node.missing == Missing::kNanRight || node.missing == Missing::kZeroRight;
  }
  if (node.asks_set()) return is_in(ensemble, node, x);
  return node.test == Test::kGreater ? x > node.threshold : x >= node.threshold;
}

inline const forest::Node& leaf_of(const forest::Ensemble& ensemble, const forest::Tree& tree,
                                   std::span<const double> row) {
  const forest::Node* const root = &ensemble.nodes[tree.first_node];
  const forest::Node* node = root;
  while (!node->is_leaf()) {
    double x = row[static_cast<std::size_t>(node->column)];
    if (ensemble.features == forest::Precision::kFloat32) x = static_cast<float>(x);
    node = root + (goes_right(ensemble, *node, x) ? node->right : node->left);
  }
  return *node;
}

template <class Sum>
std::vector<double> margins_in(const forest::Ensemble& ensemble, std::span<const double> row) {
  std::vector<Sum> sums(ensemble.outputs);
  for (std::size_t k = 0; k < sums.size() && !ensemble.base_is_last; ++k) {
    sums[k] = static_cast<Sum>(ensemble.base[k]);
  }
  for (const forest::Tree& tree : ensemble.trees) {
    const forest::Node& leaf = leaf_of(ensemble, tree, row);
    for (std::size_t i = 0; i < ensemble.leaf_size; ++i) {
      sums[tree.output + i] += static_cast<Sum>(ensemble.leaf_values[leaf.left + i]);
    }
  }
  for (std::size_t k = 0; k < sums.size(); ++k) {
    if (ensemble.base_is_last) sums[k] += static_cast<Sum>(ensemble.base[k]);
    sums[k] = sums[k] * static_cast<Sum>(ensemble.factor) / static_cast<Sum>(ensemble.divisor);
  }
  return {sums.begin(), sums.end()};
}

/// @return one for each output, in the precision of the sums
inline std::vector<double> margins(const forest::Ensemble& ensemble, std::span<const double> row) {
  return ensemble.sums == forest::Precision::kFloat32 ? margins_in<float>(ensemble, row)
                                                      : margins_in<double>(ensemble, row);
}

/// The z below which a share `p` of the normal distribution lies, by bisection.
inline double probit(double p) {
  double low = -40;
  double high = 40;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < p ? low : high) = middle;
  }
  return low;
}

inline double answer_of(forest::Link link, double scale, double x) {
  using forest::Link;
  switch (link) {
    case Link::kSigmoid:
      return 1 / (1 + std::exp(-scale * x));
    case Link::kExp:
      return std::exp(x);
    case Link::kTanh:
      return 2 / (1 + std::exp(-2 * x)) - 1;
    case Link::kSoftplus:
      return std::log1p(std::exp(x));
    case Link::kProbit:
      return probit(x);
    case Link::kSignedSquare:
      return x * std::abs(x);
    case Link::kStep:
      return x > 0 ? 1 : 0;
    default:
      return x;
  }
}

/// From margins to answers, in double.
inline std::vector<double> answers(const forest::Ensemble& ensemble, std::vector<double> values) {
  using forest::Link;
  const bool keeps_zeros = ensemble.link == Link::kSoftmaxZero;
  if (ensemble.link != Link::kSoftmax && !keeps_zeros) {
    for (double& x : values) x = answer_of(ensemble.link, ensemble.link_scale, x);
    return values;
  }
  const double largest = *std::ranges::max_element(values);
  double sum = 0;
  for (double& x : values) {
    x = keeps_zeros && x == 0 ? 0 : std::exp(x - largest);
    sum += x;
  }
  for (double& x : values) x /= sum;
  return values;
}

}  // namespace tensoa::test
