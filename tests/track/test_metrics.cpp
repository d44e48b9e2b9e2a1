// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/metrics.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tensoa/core/error.hpp"
#include "tensoa/events/impl/random.hpp"

namespace tensoa::track {
namespace {

struct Scored {
  float score;
  bool is_true;
};

PortableCollection<Edge> edges_of(const std::vector<Scored>& scored) {
  PortableCollection<Edge> collection(scored.size(), Device::cpu());
  const auto edges = collection.view();
  for (std::size_t e = 0; e < scored.size(); ++e) {
    edges.score[e] = scored[e].score;
    edges.truth[e] = scored[e].is_true ? 1 : 0;
  }
  return collection;
}

std::optional<double> auc_of(const std::vector<Scored>& scored) {
  EdgeAuc auc;
  auc.add(edges_of(scored).const_view());
  return auc.value();
}

TEST(EdgeAuc, AgreesWithAllPairs) {
  events::Random random(31);
  for (const std::int64_t levels : {2, 10, 1'000'000}) {  // few levels make many ties
    std::vector<Scored> scored;
    for (int i = 0; i < 400; ++i) {
      scored.push_back({static_cast<float>(random.below(levels)) / static_cast<float>(levels),
                        random.chance(0.3)});
    }
    double good = 0;
    double pairs = 0;
    for (const Scored& a : scored) {
      for (const Scored& b : scored) {
        if (!a.is_true || b.is_true) continue;
        good += a.score > b.score ? 1 : a.score == b.score ? 0.5 : 0;
        pairs += 1;
      }
    }
    ASSERT_TRUE(auc_of(scored).has_value());
    EXPECT_NEAR(*auc_of(scored), good / pairs, levels > 10 ? 1e-3 : 1e-15);
  }
}

TEST(EdgeAuc, TellsScoresApartThatAreCloseToZeroAndOne) {
  std::size_t last = EdgeAuc::bin_of(0);
  EXPECT_EQ(last, 0U);
  for (const float score : {1e-7F, 2e-7F, 0.001F, 0.00102F, 0.499F, 0.5F, 0.51F, 0.999F, 0.99902F,
                            0x1.fffffcp-1F, 0x1.fffffep-1F, 1.F}) {
    EXPECT_LT(last, EdgeAuc::bin_of(score)) << score;
    last = EdgeAuc::bin_of(score);
  }
  EXPECT_EQ(last, EdgeAuc::kBins - 1);
  EXPECT_EQ(EdgeAuc::bin_of(-1), 0U);
  EXPECT_EQ(EdgeAuc::bin_of(2), EdgeAuc::kBins - 1);
  for (float score = 0; score <= 1; score += 0x1p-16F) {  // bins ascend and are never too wide
    const float next = score + 0x1p-16F;
    ASSERT_LE(EdgeAuc::bin_of(score), EdgeAuc::bin_of(next));
    const float distance = std::min(score, 1 - next);
    if (distance > 0 && EdgeAuc::bin_of(score) == EdgeAuc::bin_of(score + distance / 64)) {
      FAIL() << score;
    }
  }
}

TEST(EdgeAuc, AddsCountsOfAnEvent) {
  EdgeAuc::Counts counts{};
  counts[EdgeAuc::bin_of(0.25F)] = 2;
  counts[EdgeAuc::kBins + EdgeAuc::bin_of(0.75F)] = 3;
  counts[EdgeAuc::kBins + EdgeAuc::bin_of(0.25F)] = 1;
  EdgeAuc auc;
  auc.add(counts);
  EXPECT_EQ(auc.value(), (3 + 0.5) / 4);
}

TEST(EdgeAuc, HasItsKnownValues) {
  EXPECT_EQ(auc_of({{0.9F, true}, {0.1F, false}}), 1.0);
  EXPECT_EQ(auc_of({{0.1F, true}, {0.9F, false}}), 0.0);
  EXPECT_EQ(auc_of({{0.5F, true}, {0.5F, false}}), 0.5);
}

TEST(EdgeAuc, NeedsBothClasses) {
  EXPECT_FALSE(auc_of({}).has_value());
  EXPECT_FALSE(auc_of({{0.5F, true}}).has_value());
  EXPECT_FALSE(auc_of({{0.5F, false}}).has_value());
}

TEST(EdgeAuc, AddsUpOverEvents) {
  const std::vector<Scored> first{{0.9F, true}, {0.4F, false}};
  const std::vector<Scored> second{{0.3F, true}, {0.1F, false}};
  EdgeAuc sum;
  sum.add(edges_of(first).const_view());
  EdgeAuc other;
  other.add(edges_of(second).const_view());
  sum += other;
  EXPECT_EQ(sum.value(), 0.75);
}

TEST(EdgeAuc, RejectsNan) {
  EXPECT_THROW(auc_of({{0.5F, true}, {std::numeric_limits<float>::quiet_NaN(), false}}),
               EngineError);
}

TEST(EdgeCounts, CountsAtTheCut) {
  const auto edges =
      edges_of({{0.9F, true}, {0.5F, true}, {0.4F, true}, {0.6F, false}, {0.1F, false}});
  EdgeCounts counts = compare_edges(edges.const_view(), 0.5F);
  EXPECT_EQ(counts.edges, 5U);
  EXPECT_EQ(counts.true_edges, 3U);
  EXPECT_EQ(counts.selected, 3U);
  EXPECT_EQ(counts.true_selected, 2U);
  counts += counts;
  EXPECT_EQ(counts.edges, 10U);
  EXPECT_DOUBLE_EQ(*counts.efficiency(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(*counts.purity(), 2.0 / 3);
}

TEST(EdgeCounts, RatiosOfNothingAreEmpty) {
  EXPECT_FALSE(EdgeCounts{}.efficiency().has_value());
  EXPECT_FALSE(EdgeCounts{}.purity().has_value());
}

}  // namespace
}  // namespace tensoa::track
