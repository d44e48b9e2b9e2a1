// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/events/impl/random.hpp"

#include <cmath>
#include <numbers>

namespace tensoa::events {

double Random::normal(double sigma) noexcept {
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return sigma * radius * std::cos(2 * std::numbers::pi * uniform());
}

double Random::exponential(double mean) noexcept { return -mean * std::log(1 - uniform()); }

std::int64_t Random::poisson(double mean) noexcept {
  constexpr double kMost = 100;  // exp(-mean) must not underflow: larger means come in parts
  std::int64_t count = 0;
  for (; mean > kMost; mean -= kMost) count += poisson(kMost);
  const double limit = std::exp(-mean);
  for (double product = uniform(); product > limit; product *= uniform()) ++count;
  return count;
}

}  // namespace tensoa::events
