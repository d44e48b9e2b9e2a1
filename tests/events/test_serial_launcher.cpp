// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/events/impl/serial_launcher.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "tensoa/events/impl/random.hpp"

namespace tensoa::events {
namespace {

/// As 32 lanes do that hold a part each and exchange them.
double sum_of_warp(const std::vector<double>& values) {
  std::array<double, 32> lanes{};
  for (std::size_t i = 0; i < values.size(); ++i) lanes[i % 32] += values[i];
  for (std::size_t half = 16; half > 0; half /= 2) {
    const std::array<double, 32> before = lanes;
    for (std::size_t lane = 0; lane < 32; ++lane) lanes[lane] += before[lane ^ half];
  }
  for (const double lane : lanes) EXPECT_EQ(lane, lanes[0]);
  return lanes[0];
}

TEST(OneLane, SumsHaveTheBitsOfAWarp) {
  for (const std::size_t n : {0U, 1U, 2U, 3U, 17U, 31U, 32U, 33U, 64U, 1000U}) {
    Random random(n);
    std::vector<double> values(n);
    for (double& value : values) value = random.normal(1) * random.exponential(1e6);
    double sums[2] = {7, 7};
    OneLane::sum(n, sums, [&](std::size_t i, double(&to)[2]) {
      to[0] += values[i];
      to[1] += 1;
    });
    EXPECT_EQ(sums[0], sum_of_warp(values)) << n;
    EXPECT_EQ(sums[1], static_cast<double>(n));
  }
}

TEST(OneLane, RaisesCountsAndSorts) {
  const std::vector<std::int64_t> values = {5, 3, 9, 1};
  std::int64_t most[1] = {6};
  OneLane::most(values.size(), most, [&](std::size_t i, std::int64_t(&to)[1]) {
    if (values[i] > to[0]) to[0] = values[i];
  });
  EXPECT_EQ(most[0], 9);
  std::size_t count = 3;
  EXPECT_EQ(OneLane::append(true, count), 3U);
  EXPECT_EQ(OneLane::append(false, count), 4U);
  EXPECT_EQ(count, 4U);
  std::vector<std::int64_t> sorted(4);
  OneLane::sort_into(values.data(), values.size(), sorted.data(), std::less<>());
  EXPECT_THAT(sorted, testing::ElementsAre(1, 3, 5, 9));
}

}  // namespace
}  // namespace tensoa::events
