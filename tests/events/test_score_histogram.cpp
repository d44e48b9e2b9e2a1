// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/events/scores.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "tensoa/core/error.hpp"

namespace tensoa::events {
namespace {

struct Edges {
  std::vector<float> score;
  std::vector<std::uint8_t> truth;
};

Edges random_edges(std::size_t n) {
  std::mt19937 generator(7);
  std::uniform_real_distribution<float> uniform(0.0F, 1.0F);
  Edges edges;
  for (std::size_t i = 0; i < n; ++i) {
    const bool is_true = i % 5 == 0;
    const float u = uniform(generator);
    edges.score.push_back(is_true ? std::sqrt(u) : u * u);
    edges.truth.push_back(is_true ? 1 : 0);
  }
  return edges;
}

TEST(ScoreHistogram, PutsEdgesOfTheRangeAndBeyondIntoTheEndBins) {
  ScoreHistogram histogram;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> scores{0.0F, -1.0F, nan, 1.0F, 2.0F, 0.5F};
  histogram.add(scores);
  const auto& counts = histogram.unlabelled_counts();
  EXPECT_EQ(counts.front(), 3U);
  EXPECT_EQ(counts.back(), 2U);
  EXPECT_EQ(counts[500], 1U);
  EXPECT_TRUE(histogram.cut_points().empty());
}

TEST(ScoreHistogram, CutPointsEqualCountingEdgeByEdge) {
  const Edges edges = random_edges(20'000);
  ScoreHistogram histogram;
  histogram.add(edges.score, edges.truth);
  const auto points = histogram.cut_points();
  ASSERT_EQ(points.size(), ScoreHistogram::kBins + 1);
  for (const std::size_t k : {0U, 1U, 250U, 500U, 999U}) {
    double kept_true = 0;
    double kept_false = 0;
    for (std::size_t i = 0; i < edges.score.size(); ++i) {
      if (static_cast<double>(edges.score[i]) * 1000 < static_cast<double>(k)) continue;
      ++(edges.truth[i] != 0 ? kept_true : kept_false);
    }
    EXPECT_DOUBLE_EQ(points[k].cut, static_cast<double>(k) / 1000);
    EXPECT_DOUBLE_EQ(points[k].efficiency, kept_true / 4'000);
    EXPECT_DOUBLE_EQ(points[k].false_rate, kept_false / 16'000);
    EXPECT_DOUBLE_EQ(points[k].purity, kept_true / (kept_true + kept_false));
  }
  EXPECT_EQ(points.back().efficiency, 0.0);
  EXPECT_TRUE(std::isnan(points.back().purity));
}

TEST(ScoreHistogram, AreaUnderItsRocIsTheRankStatistic) {
  const Edges edges = random_edges(4'000);
  ScoreHistogram histogram;
  histogram.add(edges.score, edges.truth);
  const auto points = histogram.cut_points();
  double area = 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    area += (points[i - 1].false_rate - points[i].false_rate) *
            (points[i - 1].efficiency + points[i].efficiency) / 2;
  }
  double wins = 0;
  double pairs = 0;
  for (std::size_t i = 0; i < edges.score.size(); ++i) {
    if (edges.truth[i] == 0) continue;
    for (std::size_t j = 0; j < edges.score.size(); ++j) {
      if (edges.truth[j] != 0) continue;
      ++pairs;
      wins += edges.score[i] > edges.score[j] ? 1.0 : 0.0;
    }
  }
  EXPECT_NEAR(area, wins / pairs, 1e-3);
}

TEST(ScoreHistogram, MergedPartsEqualTheWhole) {
  const Edges edges = random_edges(1'000);
  const std::span scores(edges.score);
  const std::span truth(edges.truth);
  ScoreHistogram whole;
  whole.add(scores, truth);
  whole.add(scores.first(10));
  ScoreHistogram first;
  first.add(scores.first(300), truth.first(300));
  ScoreHistogram second;
  second.add(scores.subspan(300), truth.subspan(300));
  second.add(scores.first(10));
  first.merge(second);
  EXPECT_EQ(first.true_counts(), whole.true_counts());
  EXPECT_EQ(first.false_counts(), whole.false_counts());
  EXPECT_EQ(first.unlabelled_counts(), whole.unlabelled_counts());
}

TEST(ScoreHistogram, RejectsTruthOfAnotherLength) {
  ScoreHistogram histogram;
  EXPECT_THROW(histogram.add(std::vector<float>(3), std::vector<std::uint8_t>(2)), ConfigError);
}

}  // namespace
}  // namespace tensoa::events
