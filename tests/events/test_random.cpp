// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/events/impl/random.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tensoa::events {
namespace {

constexpr int kDraws = 200'000;

// Mean and variance of many draws.
template <class Draw>
std::pair<double, double> moments(Draw draw) {
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const auto value = static_cast<double>(draw());
    sum += value;
    squares += value * value;
  }
  const double mean = sum / kDraws;
  return {mean, squares / kDraws - mean * mean};
}

TEST(Random, StreamsAreReproducibleAndDiffer) {
  Random a(5, 1);
  Random b(5, 1);
  Random other_stream(5, 2);
  Random other_seed(6, 1);
  for (int i = 0; i < 100; ++i) {
    const auto value = a.next();
    EXPECT_EQ(value, b.next());
    EXPECT_NE(value, other_stream.next());
    EXPECT_NE(value, other_seed.next());
  }
}

TEST(Random, UniformCoversItsRangeEvenly) {
  Random random(1);
  const auto [mean, variance] = moments([&] {
    const double value = random.uniform();
    EXPECT_GE(value, 0.0);
    EXPECT_LT(value, 1.0);
    return value;
  });
  EXPECT_NEAR(mean, 0.5, 0.005);
  EXPECT_NEAR(variance, 1.0 / 12, 0.002);
}

TEST(Random, NormalHasItsWidth) {
  Random random(2);
  const auto [mean, variance] = moments([&] { return random.normal(3.0); });
  EXPECT_NEAR(mean, 0.0, 0.05);
  EXPECT_NEAR(variance, 9.0, 0.2);
}

TEST(Random, ExponentialHasItsMean) {
  Random random(3);
  const auto [mean, variance] = moments([&] { return random.exponential(2.0); });
  EXPECT_NEAR(mean, 2.0, 0.05);
  EXPECT_NEAR(variance, 4.0, 0.2);
}

TEST(Random, PoissonHasItsMeanAlsoWhenLarge) {
  Random random(4);
  const auto [mean, variance] = moments([&] { return random.poisson(2.5); });
  EXPECT_NEAR(mean, 2.5, 0.05);
  EXPECT_NEAR(variance, 2.5, 0.1);
  EXPECT_EQ(random.poisson(0), 0);
  EXPECT_NEAR(static_cast<double>(random.poisson(1e6)), 1e6, 6e3);
}

TEST(Random, BelowStaysBelow) {
  Random random(5);
  bool seen[3] = {false, false, false};
  for (int i = 0; i < 100; ++i) seen[random.below(3)] = true;
  EXPECT_TRUE(seen[0] && seen[1] && seen[2]);
}

}  // namespace
}  // namespace tensoa::events
