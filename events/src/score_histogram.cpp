// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/events/scores.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <string>

#include "tensoa/core/error.hpp"

namespace tensoa::events {
namespace {

std::size_t bin_of(float score) {
  if (!(score > 0.0F)) return 0;  // NaN too: it passes no cut
  if (score >= 1.0F) return ScoreHistogram::kBins - 1;
  // In double, so that a score just below a bin's edge is not rounded up into the bin.
  return static_cast<std::size_t>(static_cast<double>(score) * ScoreHistogram::kBins);
}

void accumulate(ScoreHistogram::Counts& into, const ScoreHistogram::Counts& from) {
  std::transform(from.begin(), from.end(), into.begin(), into.begin(), std::plus<>());
}

}  // namespace

void ScoreHistogram::add(std::span<const float> scores, std::span<const std::uint8_t> truth) {
  if (scores.size() != truth.size()) {
    throw ConfigError("ScoreHistogram::add(): got " + std::to_string(scores.size()) +
                      " scores and " + std::to_string(truth.size()) +
                      " truth flags, expected one flag a score");
  }
  for (std::size_t i = 0; i < scores.size(); ++i) {
    ++(truth[i] != 0 ? true_ : false_)[bin_of(scores[i])];
  }
}

void ScoreHistogram::add(std::span<const float> scores) {
  for (const float score : scores) ++unlabelled_[bin_of(score)];
}

void ScoreHistogram::merge(const ScoreHistogram& other) {
  accumulate(true_, other.true_);
  accumulate(false_, other.false_);
  accumulate(unlabelled_, other.unlabelled_);
}

std::vector<CutPoint> ScoreHistogram::cut_points() const {
  const auto all_true = std::accumulate(true_.begin(), true_.end(), std::uint64_t{0});
  const auto all_false = std::accumulate(false_.begin(), false_.end(), std::uint64_t{0});
  if (all_true == 0 || all_false == 0) return {};

  std::vector<CutPoint> points(kBins + 1);
  std::uint64_t kept_true = 0;
  std::uint64_t kept_false = 0;
  for (std::size_t i = kBins + 1; i-- > 0;) {
    if (i < kBins) {
      kept_true += true_[i];
      kept_false += false_[i];
    }
    const auto kept = static_cast<double>(kept_true + kept_false);
    points[i] = {.cut = static_cast<double>(i) / kBins,
                 .efficiency = static_cast<double>(kept_true) / static_cast<double>(all_true),
                 .false_rate = static_cast<double>(kept_false) / static_cast<double>(all_false),
                 .purity = kept > 0 ? static_cast<double>(kept_true) / kept
                                    : std::numeric_limits<double>::quiet_NaN()};
  }
  return points;
}

}  // namespace tensoa::events
