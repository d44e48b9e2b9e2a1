// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/events/impl/arithmetic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensoa/events/impl/random.hpp"

namespace tensoa::events {
namespace {

double ulps(double got, double expected) {
  if (got == expected) return 0;
  const double ulp =
      std::abs(std::nextafter(expected, std::numeric_limits<double>::infinity()) - expected);
  return std::abs(got - expected) / ulp;
}

/// Of either sign, with an exponent between -20 and 20.
float any_float(Random& random) {
  return static_cast<float>(random.uniform(-1, 1) * std::exp2(random.uniform(-20, 20)));
}

TEST(AngleOf, IsWithinTwoUlpOfAtan2) {
  Random random(1);
  double worst = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const double y = any_float(random);
    const double x = any_float(random);
    worst = std::max(worst, ulps(angle_of(y, x), std::atan2(y, x)));
    const double near_diagonal = x * static_cast<float>(random.uniform(0.9, 1.1));
    worst = std::max(worst, ulps(angle_of(near_diagonal, x), std::atan2(near_diagonal, x)));
  }
  EXPECT_LE(worst, 2);
}

TEST(AngleOf, TakesZerosAndAxesAsAtan2Does) {
  for (const double y : {0.0, -0.0, 1.0, -3.0, 1e-38, 3e38}) {
    for (const double x : {0.0, -0.0, 1.0, -3.0, 1e-38, -3e38}) {
      EXPECT_LE(ulps(angle_of(y, x), std::atan2(y, x)), 1) << y << ' ' << x;
      EXPECT_EQ(std::signbit(angle_of(y, x)), std::signbit(std::atan2(y, x))) << y << ' ' << x;
    }
  }
}

TEST(InverseSinh, IsWithinThreeUlpOfAsinh) {
  Random random(2);
  double worst = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const double u = random.uniform(-1, 1) * std::exp2(random.uniform(-60, 140));
    const double v = random.uniform(-2, 2);
    worst = std::max(worst, ulps(inverse_sinh(u), std::asinh(u)));
    worst = std::max(worst, ulps(inverse_sinh(v), std::asinh(v)));
  }
  EXPECT_LE(worst, 3);
  EXPECT_EQ(inverse_sinh(0), 0);
}

}  // namespace
}  // namespace tensoa::events
