// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/efficiency.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tensoa/core/error.hpp"

namespace tensoa::track {
namespace {

struct Known {
  std::size_t part, whole;
  double low, high;
};

TEST(BinomialInterval, AgreesWithScipy) {
  // scipy.stats.binomtest(part, whole).proportion_ci(0.6826894921370859, method="wilson")
  for (const auto& [part, whole, low, high] :
       {Known{0, 1, 0, 0.5}, Known{1, 1, 0.5, 1}, Known{0, 10, 0, 0.09090909090909091},
        Known{3, 10, 0.17882082075676461, 0.4575428156068717}, Known{10, 10, 0.9090909090909092, 1},
        Known{7, 8, 0.7154822031355754, 0.9511844635310913},
        Known{950, 1000, 0.9426472153041532, 0.9564536837967459},
        Known{1, 100000, 3.81966663728367e-06, 2.61800333657163e-05}}) {
    const auto interval = binomial_interval(part, whole);
    ASSERT_TRUE(interval.has_value());
    EXPECT_NEAR(interval->low, low, 1e-14) << part << " of " << whole;
    EXPECT_NEAR(interval->high, high, 1e-14) << part << " of " << whole;
  }
  EXPECT_FALSE(binomial_interval(0, 0).has_value());
}

TEST(BinomialInterval, EndsWhereTheRatioIsOneStandardDeviationAway) {
  // Its definition: |p - part / whole| = sqrt(p (1 - p) / whole) at both ends.
  for (std::size_t part = 0; part <= 23; ++part) {
    const auto interval = binomial_interval(part, 23);
    ASSERT_TRUE(interval.has_value());
    const double ratio = static_cast<double>(part) / 23;
    EXPECT_LE(interval->low, ratio);
    EXPECT_GE(interval->high, ratio);
    for (const double p : {interval->low, interval->high}) {
      if (p == 0 || p == 1) continue;
      EXPECT_NEAR(std::abs(p - ratio), std::sqrt(p * (1 - p) / 23), 1e-14) << part;
    }
  }
}

TEST(ParticleCounts, RatiosOfNothingAreEmpty) {
  const ParticleCounts nothing;
  EXPECT_FALSE(nothing.efficiency().has_value());
  EXPECT_FALSE(nothing.interval().has_value());
  EXPECT_FALSE(nothing.ceiling().has_value());
  EXPECT_FALSE(nothing.technical_efficiency().has_value());
}

TEST(ParticleCounts, TakesTheCeilingOfEventsWithEdges) {
  ParticleCounts counts{
      .particles = 10, .found = 6, .with_edges = 10, .findable = 8, .findable_found = 5};
  counts += {.particles = 10, .found = 9};
  EXPECT_DOUBLE_EQ(*counts.efficiency(), 0.75);
  EXPECT_DOUBLE_EQ(*counts.ceiling(), 0.8);
  EXPECT_DOUBLE_EQ(*counts.technical_efficiency(), 0.625);
}

TEST(EfficiencyBins, HoldValuesFromTheirLowerEdgeOn) {
  EfficiencyBins bins({0, 1, 2.5});
  const ParticleCounts one{.particles = 1, .found = 1};
  for (const double value : {0.0, 0.5, 1.0, 2.4, 2.4}) bins.add(value, one);
  EXPECT_EQ(bins.bins()[0].particles, 2U);
  EXPECT_EQ(bins.bins()[1].found, 3U);
  EXPECT_EQ(bins.outside().particles, 0U);
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double value : {-0.1, 2.5, infinity, -infinity, std::nan("")}) bins.add(value, one);
  EXPECT_EQ(bins.outside().particles, 5U);
  EXPECT_EQ(bins.bins()[0].particles + bins.bins()[1].particles, 5U);
}

TEST(EfficiencyBins, AddUpWhereTheirEdgesAreTheSame) {
  EfficiencyBins bins({0, 1, 2});
  EfficiencyBins others({0, 1, 2});
  bins.add(0.5, {.particles = 2});
  others.add(0.5, {.particles = 3});
  others.add(7, {.particles = 1});
  bins += others;
  EXPECT_EQ(bins.bins()[0].particles, 5U);
  EXPECT_EQ(bins.outside().particles, 1U);
  EXPECT_THROW(bins += EfficiencyBins({0, 1}), ConfigError);
}

TEST(EfficiencyBins, RejectEdgesThatMakeNoBins) {
  EXPECT_THROW(EfficiencyBins({}), ConfigError);
  EXPECT_THROW(EfficiencyBins({1}), ConfigError);
  EXPECT_THROW(EfficiencyBins({1, 0}), ConfigError);
}

}  // namespace
}  // namespace tensoa::track
