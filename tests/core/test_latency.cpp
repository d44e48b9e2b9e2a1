// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/latency.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace tensoa {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;

TEST(LatencyHistogram, OfNothingSaysZero) {
  EXPECT_EQ(LatencyHistogram().percentile(0.5), nanoseconds(0));
  EXPECT_EQ(LatencyHistogram().count(), 0U);
}

TEST(LatencyHistogram, IsWithinThreePercentOfTheSortedTimes) {
  std::mt19937_64 random(7);
  std::vector<std::int64_t> times;
  LatencyHistogram histogram;
  for (int draw = 0; draw < 20000; ++draw) {
    const double power = std::uniform_real_distribution<>(0, 30)(random);
    times.push_back(static_cast<std::int64_t>(std::exp2(power)));
    histogram.add(nanoseconds(times.back()));
  }
  std::sort(times.begin(), times.end());
  for (const double share : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto place =
        static_cast<std::size_t>(share * static_cast<double>(times.size()) + 0.5) - 1;
    const auto exact = static_cast<double>(times[place]);
    const auto said = static_cast<double>(histogram.percentile(share).count());
    EXPECT_GE(said, exact) << share;
    EXPECT_LE(said, exact * (1 + 1.0 / 32) + 1) << share;
  }
}

TEST(LatencyHistogram, AddsUp) {
  LatencyHistogram one;
  LatencyHistogram other;
  one.add(nanoseconds(10));
  other.add(nanoseconds(20));
  one += other;
  EXPECT_EQ(one.count(), 2U);
  EXPECT_EQ(one.percentile(0.5), nanoseconds(10));
  EXPECT_EQ(one.percentile(1), nanoseconds(20));
}

TEST(LatencyHistogram, TakesTimesBelowZeroAndBeyondItsEnd) {
  LatencyHistogram histogram;
  histogram.add(nanoseconds(-5));
  EXPECT_EQ(histogram.percentile(1), nanoseconds(0));
  histogram.add(hours(1000));
  EXPECT_GT(histogram.percentile(1), hours(0));
}

}  // namespace
}  // namespace tensoa
