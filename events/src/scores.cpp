// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/events/scores.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "ratio.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::events {

std::optional<double> EdgeCounts::efficiency() const { return ratio(true_selected, true_edges); }

std::optional<double> EdgeCounts::purity() const { return ratio(true_selected, selected); }

EdgeCounts& EdgeCounts::operator+=(const EdgeCounts& other) {
  edges += other.edges;
  true_edges += other.true_edges;
  selected += other.selected;
  true_selected += other.true_selected;
  return *this;
}

void EdgeAuc::add(std::span<const float> scores, std::span<const std::uint8_t> truth) {
  for (std::size_t e = 0; e < scores.size(); ++e) {
    if (std::isnan(scores[e])) {
      throw EngineError("edge " + std::to_string(e) + ": got a score of NaN, expected 0 to 1");
    }
  }
  counts_.resize(2 * kBins);
  for (std::size_t e = 0; e < scores.size(); ++e) {
    ++counts_[(truth[e] != 0 ? kBins : 0) + bin_of(scores[e])];
  }
}

void EdgeAuc::add(const Counts& counts) { add_counts(counts); }

EdgeAuc& EdgeAuc::operator+=(const EdgeAuc& other) {
  if (!other.counts_.empty()) add_counts(other.counts_);
  return *this;
}

template <class Numbers>
void EdgeAuc::add_counts(const Numbers& counts) {
  counts_.resize(2 * kBins);
  std::transform(counts_.begin(), counts_.end(), counts.begin(), counts_.begin(), std::plus<>());
}

std::optional<double> EdgeAuc::value() const {
  if (counts_.empty()) return std::nullopt;
  double half_pairs = 0;  // twice the number of pairs in the right order, plus the ties
  double falses = 0;
  double trues = 0;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    const auto false_here = static_cast<double>(counts_[bin]);
    const auto true_here = static_cast<double>(counts_[kBins + bin]);
    half_pairs += true_here * (2 * falses + false_here);
    falses += false_here;
    trues += true_here;
  }
  if (trues == 0 || falses == 0) return std::nullopt;
  return half_pairs / (2 * trues * falses);
}

}  // namespace tensoa::events
