// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/generator.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <set>

#include "tensoa/core/error.hpp"

namespace tensoa::track {
namespace {

// FNV-1a over layer, coordinates in whole micrometres and particle of each hit.
std::uint64_t hash_of(const Event& event) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](std::int64_t value) {
    for (int byte = 0; byte < 8; ++byte) {
      hash ^= static_cast<std::uint64_t>(value) >> (8 * byte) & 0xff;
      hash *= 0x100000001b3;
    }
  };
  const auto hits = event.hits.const_view();
  for (std::size_t i = 0; i < hits.size(); ++i) {
    add(hits.layer[i]);
    for (const float mm : {hits.x[i], hits.y[i], hits.z[i]}) add(std::llround(1000.0 * mm));
    add(hits.particle_id[i]);
  }
  return hash;
}

TEST(Generator, GivesTheRecordedEvents) {
  EXPECT_EQ(hash_of(generate({}, 0)), 9237071504780063253U);
  EXPECT_EQ(hash_of(generate({}, 1)), 3684921980979091231U);
  EXPECT_EQ(hash_of(generate({.seed = 2, .particles = 2000}, 0)), 10067780443676377964U);
}

TEST(Generator, SameSeedGivesSameHash) {
  EXPECT_EQ(hash_of(generate({.seed = 9}, 4)), hash_of(generate({.seed = 9}, 4)));
}

TEST(Generator, EventsAndSeedsDiffer) {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    for (std::uint64_t index = 0; index < 4; ++index) {
      hashes.insert(hash_of(generate({.seed = seed, .particles = 50}, index)));
    }
  }
  EXPECT_EQ(hashes.size(), 16U);
}

TEST(Generator, LooksLikeTheRealEvent) {
  double n_hits = 0;
  double noise = 0;
  double innermost = 0;
  double outermost = 0;
  constexpr int kEvents = 10;
  for (int i = 0; i < kEvents; ++i) {
    const Event event = generate({}, static_cast<std::uint64_t>(i));
    EXPECT_TRUE(event.has_truth);
    EXPECT_TRUE(event.has_layers);
    const auto hits = event.hits.const_view();
    for (std::size_t h = 0; h < hits.size(); ++h) {
      n_hits += 1;
      noise += hits.particle_id[h] == 0 ? 1 : 0;
      innermost += hits.layer[h] == 8002 ? 1 : 0;
      outermost += hits.layer[h] == 17004 ? 1 : 0;
    }
  }
  // The TrackML event has 5527 hits, 829 of noise, 404 in the innermost and 221 in the outermost
  // barrel layer.
  EXPECT_NEAR(n_hits / kEvents, 5527, 300);
  EXPECT_NEAR(noise / n_hits, 0.15, 0.015);
  EXPECT_NEAR(innermost / kEvents, 404, 40);
  EXPECT_NEAR(outermost / kEvents, 221, 30);
}

TEST(Generator, HitsLieOnTheirLayer) {
  const std::map<std::int32_t, double> radii{{8002, 32},   {8004, 72},   {8006, 116},  {8008, 172},
                                             {13002, 260}, {13004, 360}, {13006, 500}, {13008, 660},
                                             {17002, 820}, {17004, 1020}};
  const std::map<std::int32_t, double> planes{
      {9002, 600},    {9014, 1500},   {7014, -600},  {7002, -1500}, {14002, 1220},  {14012, 2950},
      {12012, -1220}, {12002, -2950}, {18002, 1220}, {18012, 2950}, {16012, -1220}, {16002, -2950}};
  const Event event = generate({}, 0);
  const auto hits = event.hits.const_view();
  std::set<std::int32_t> seen;
  for (std::size_t i = 0; i < hits.size(); ++i) {
    seen.insert(hits.layer[i]);
    if (const auto radius = radii.find(hits.layer[i]); radius != radii.end()) {
      EXPECT_NEAR(std::hypot(hits.x[i], hits.y[i]), radius->second, 7) << "row " << i;
    }
    if (const auto plane = planes.find(hits.layer[i]); plane != planes.end()) {
      EXPECT_NEAR(hits.z[i], plane->second, 7) << "row " << i;
    }
  }
  EXPECT_EQ(seen.size(), 48U);
}

// Undisturbed by curvature, a fast particle's hits point back to where it was made.
TEST(Generator, FastParticlesGoStraight) {
  int checked = 0;
  for (std::uint64_t index = 0; index < 20; ++index) {
    const Event event = generate({}, index);
    const auto particles = event.particles.const_view();
    const auto hits = event.hits.const_view();
    for (std::size_t p = 0; p < particles.size(); ++p) {
      const double pt = std::hypot(particles.px[p], particles.py[p]);
      if (pt < 3 || std::hypot(particles.vx[p], particles.vy[p]) > 1) continue;
      const double slope = particles.pz[p] / pt;
      if (std::abs(slope) > 1) continue;
      for (std::size_t i = 0; i < hits.size(); ++i) {
        if (hits.particle_id[i] != particles.particle_id[p]) continue;
        const double r = std::hypot(hits.x[i], hits.y[i]);
        EXPECT_NEAR(hits.z[i], particles.vz[p] + slope * r, 5 + 0.01 * r);
        const double phi =
            std::atan2(hits.y[i], hits.x[i]) - std::atan2(particles.py[p], particles.px[p]);
        const double bend = -particles.charge[p] * r * 0.3e-3 / pt;  // half of r / radius, 2 T
        EXPECT_NEAR(std::remainder(phi - bend, 2 * 3.14159265358979), 0, 0.005);
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 50);
}

TEST(Generator, NoParticlesGiveAnEventWithoutHits) {
  const Event event = generate({.particles = 0}, 0);
  EXPECT_EQ(event.hits.size(), 0U);
  EXPECT_EQ(event.particles.size(), 0U);
}

TEST(Generator, RejectsImpossibleSizes) {
  EXPECT_THROW(generate({.particles = -1}, 0), ConfigError);
  EXPECT_THROW(generate({.particles = 1'000'001}, 0), ConfigError);
}

}  // namespace
}  // namespace tensoa::track
