// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/merge/generator.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <set>

#include "tensoa/core/error.hpp"

namespace tensoa::merge {
namespace {

// FNV-1a over all columns of the clusters in their whole units.
std::uint64_t hash_of(const Event& event) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](std::int64_t value) {
    for (int byte = 0; byte < 8; ++byte) {
      hash ^= static_cast<std::uint64_t>(value) >> (8 * byte) & 0xff;
      hash *= 0x100000001b3;
    }
  };
  const auto clusters = event.clusters.const_view();
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    for (const float mm : {clusters.x[i], clusters.y[i], clusters.z[i], clusters.time[i]}) {
      add(std::llround(1000.0 * mm));
    }
    add(std::llround(1e6 * clusters.energy[i]));
    for (const std::int64_t number :
         {std::int64_t{clusters.layer[i]}, std::int64_t{clusters.cells[i]}, clusters.fragment_id[i],
          clusters.particle_id[i]}) {
      add(number);
    }
  }
  return hash;
}

TEST(Generator, GivesTheRecordedEvents) {
  EXPECT_EQ(hash_of(generate({}, 0)), 1284303910259771545U);
  EXPECT_EQ(hash_of(generate({.seed = 2, .particles = 100}, 3)), 7123132591270449014U);
  EXPECT_EQ(hash_of(generate({.seed = 3, .particles = 5, .pile_up = 20}, 0)),
            10458885029979988463U);
}

TEST(Generator, EventsAndSeedsDiffer) {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    for (std::uint64_t index = 0; index < 4; ++index) {
      hashes.insert(hash_of(generate({.seed = seed, .particles = 3}, index)));
    }
  }
  EXPECT_EQ(hashes.size(), 16U);
}

TEST(Generator, ShowersHaveTheEnergyOfTheirParticlesInSeveralFragments) {
  double least = 1e9;
  double most = 0;
  double fragments = 0;
  std::map<int, int> endcaps;
  for (std::uint64_t index = 0; index < 20; ++index) {
    const Event event = generate({.particles = 10}, index);
    const auto clusters = event.clusters.const_view();
    std::map<std::int64_t, double> energies;
    for (std::size_t i = 0; i < clusters.size(); ++i) {
      energies[clusters.particle_id[i]] += clusters.energy[i];
      ++endcaps[clusters.z[i] < 0 ? -1 : 1];
      const double r = std::hypot(clusters.x[i], clusters.y[i]);
      EXPECT_TRUE(r >= 249.9 && r <= 2700.1 && std::abs(clusters.z[i]) >= 3219);
      EXPECT_TRUE(clusters.layer[i] >= 1 && clusters.layer[i] <= 47);
    }
    for (const auto& [particle, energy] : energies) {
      EXPECT_TRUE(particle >= 1 && particle <= 10);
      most = std::max(most, energy);
      least = std::min(least, energy);
    }
    fragments += static_cast<double>(event.fragments.size());
  }
  EXPECT_GT(most, 100);
  EXPECT_LT(most, 220);
  EXPECT_LT(least, 10);
  EXPECT_NEAR(fragments / 20, 115, 25);
  EXPECT_GT(endcaps[-1], 5000);
  EXPECT_GT(endcaps[1], 5000);
}

TEST(Generator, AnEventMayBeEmpty) {
  const Event event = generate({.particles = 0}, 0);
  EXPECT_EQ(event.clusters.size(), 0U);
  EXPECT_TRUE(event.has_truth);
}

TEST(Generator, RefusesNumbersOutOfRange) {
  EXPECT_THROW(generate({.particles = -1}, 0), ConfigError);
  EXPECT_THROW(generate({.particles = 10'001}, 0), ConfigError);
  EXPECT_THROW(generate({.pile_up = -1}, 0), ConfigError);
  EXPECT_THROW(generate({.pile_up = 1001}, 0), ConfigError);
}

}  // namespace
}  // namespace tensoa::merge
