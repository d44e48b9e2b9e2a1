// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/graph_builder.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "tensoa/core/error.hpp"
#include "tensoa/events/impl/random.hpp"
#include "tensoa/track/event_source.hpp"
#include "tensoa/track/generator.hpp"

namespace tensoa::track {
namespace {

using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

// The rules of the data README, on all pairs of hits.
Pairs all_pairs(ConstView<Hit> hits, const GraphCuts& cuts) {
  Pairs pairs;
  for (std::size_t s = 0; s < hits.size(); ++s) {
    for (std::size_t t = 0; t < hits.size(); ++t) {
      const double xs = hits.x[s], ys = hits.y[s], zs = hits.z[s];
      const double xt = hits.x[t], yt = hits.y[t], zt = hits.z[t];
      const double rs = std::sqrt(xs * xs + ys * ys);
      const double dr = std::sqrt(xt * xt + yt * yt) - rs;
      const double dphi =
          std::abs(std::remainder(std::atan2(yt, xt) - std::atan2(ys, xs), 2 * std::numbers::pi));
      const double distance =
          std::sqrt((xt - xs) * (xt - xs) + (yt - ys) * (yt - ys) + (zt - zs) * (zt - zs));
      const bool other_layer = hits.layer[s] != hits.layer[t] || hits.layer[s] == 0;
      if (other_layer && dr > 0 && dr >= cuts.min_dr && dphi <= cuts.max_dphi &&
          dphi / dr <= cuts.max_dphi_per_dr && distance <= cuts.max_distance &&
          std::abs(zs - rs * (zt - zs) / dr) <= cuts.max_z0) {
        pairs.emplace_back(s, t);
      }
    }
  }
  return pairs;
}

Pairs pairs_of(ConstView<Edge> edges) {
  Pairs pairs;
  for (std::size_t e = 0; e < edges.size(); ++e)
    pairs.emplace_back(edges.source[e], edges.target[e]);
  return pairs;
}

struct Point {
  double r, phi, z;
  std::int32_t layer;
};

PortableCollection<Hit> hits_at(const std::vector<Point>& points) {
  PortableCollection<Hit> collection(points.size(), Device::cpu());
  const auto hits = collection.view();
  for (std::size_t i = 0; i < points.size(); ++i) {
    hits.x[i] = static_cast<float>(points[i].r * std::cos(points[i].phi));
    hits.y[i] = static_cast<float>(points[i].r * std::sin(points[i].phi));
    hits.z[i] = static_cast<float>(points[i].z);
    hits.layer[i] = points[i].layer;
    hits.hit_id[i] = static_cast<std::int64_t>(i);
    hits.particle_id[i] = 0;
  }
  return collection;
}

void expect_same_as_all_pairs(PortableCollection<Hit>& hits, const GraphCuts& cuts = {}) {
  GraphBuilder builder(cuts);
  const Pairs got = pairs_of(builder.build(hits.view()).const_view());
  EXPECT_EQ(got, all_pairs(hits.const_view(), cuts));
}

TEST(GraphBuilder, AgreesWithAllPairsOnRandomHits) {
  events::Random random(11);
  for (const double r_max : {60.0, 300.0, 1000.0}) {
    for (const std::int32_t layers : {1, 2, 12}) {
      std::vector<Point> points;
      for (int i = 0; i < 600; ++i) {
        const auto layer = static_cast<std::int32_t>(random.below(layers));
        points.push_back(
            {random.uniform(0, r_max), random.uniform(-4, 4), random.normal(300), layer});
      }
      auto hits = hits_at(points);
      expect_same_as_all_pairs(hits);
    }
  }
}

TEST(GraphBuilder, AgreesWithAllPairsOnGeneratedEvents) {
  for (std::uint64_t index = 0; index < 4; ++index) {
    Event event = generate({.seed = 3, .particles = 120}, index);
    expect_same_as_all_pairs(event.hits);
    const auto hits = event.hits.view();
    for (std::size_t i = 0; i < hits.size(); ++i) hits.layer[i] = 0;
    expect_same_as_all_pairs(event.hits);
  }
}

TEST(GraphBuilder, AgreesWithAllPairsForOtherCuts) {
  Event event = generate({.seed = 4, .particles = 60}, 0);
  expect_same_as_all_pairs(event.hits, {.max_dphi = 4.0, .max_dphi_per_dr = 0.1});
  expect_same_as_all_pairs(event.hits, {.min_dr = 0, .max_distance = 3000, .max_z0 = 1000});
  expect_same_as_all_pairs(event.hits, {.min_dr = 30, .max_dphi = 0.01});
  expect_same_as_all_pairs(event.hits, {.max_z0 = 0});
}

TEST(GraphBuilder, FindsPairsAcrossTheSeamOfPhi) {
  const double pi = std::numbers::pi;
  auto hits = hits_at({{50, pi - 0.01, 0, 1}, {90, -pi + 0.01, 0, 2}, {140, pi - 0.005, 0, 3}});
  GraphBuilder builder;
  const auto edges = builder.build(hits.view()).const_view();
  EXPECT_EQ(pairs_of(edges), (Pairs{{0, 1}, {0, 2}, {1, 2}}));
  EXPECT_NEAR(edges.dphi[0], 0.02 / pi, 1e-6);
  EXPECT_NEAR(edges.dphi[2], -0.015 / pi, 1e-6);
}

TEST(GraphBuilder, HitsAtTheSameRadiusAreNoPair) {
  auto hits = hits_at({{50, 0.1, 0, 1}, {50, 0.1, 1, 2}, {51.9, 0.1, 0, 3}, {52.1, 0.1, 0, 4}});
  GraphBuilder builder;
  EXPECT_EQ(pairs_of(builder.build(hits.view()).const_view()), (Pairs{{0, 3}, {1, 3}}));
}

TEST(GraphBuilder, TakesHitsOnTheBeamLine) {
  auto hits = hits_at({{0, 0, 20, 0}, {0, 0, 200, 0}, {30, 0.01, 25, 0}, {0, 0, 20, 0}});
  expect_same_as_all_pairs(hits);
  GraphBuilder builder;
  const auto edges = builder.build(hits.view()).const_view();
  EXPECT_EQ(pairs_of(edges), (Pairs{{0, 2}, {3, 2}}));
  EXPECT_TRUE(std::isfinite(edges.dR[0]));
}

TEST(GraphBuilder, LayersMatterUnlessUnknown) {
  auto same = hits_at({{50, 0, 0, 7}, {90, 0, 0, 7}});
  auto unknown = hits_at({{50, 0, 0, 0}, {90, 0, 0, 0}});
  GraphBuilder builder;
  EXPECT_EQ(builder.build(same.view()).size(), 0U);
  EXPECT_EQ(builder.build(unknown.view()).size(), 1U);
}

TEST(GraphBuilder, FillsNodeAndEdgeColumns) {
  auto hits = hits_at({{50, 0.1, 20, 1}, {100, 0.15, 30, 2}, {170, 0.1, 40, 3}});
  const auto v = hits.view();
  v.particle_id[0] = v.particle_id[1] = 5;
  v.particle_id[2] = 0;
  GraphBuilder builder;
  const auto edges = builder.build(v).const_view();
  EXPECT_FLOAT_EQ(v.r_scaled[0], 50.0F / 3000);
  EXPECT_FLOAT_EQ(v.phi_scaled[1], static_cast<float>(0.15 / std::numbers::pi));
  EXPECT_FLOAT_EQ(v.z_scaled[2], 0.1F);
  ASSERT_EQ(pairs_of(edges), (Pairs{{0, 1}, {0, 2}, {1, 2}}));
  EXPECT_NEAR(edges.dr[0], 50.0 / 3000, 1e-6);
  EXPECT_NEAR(edges.dphi[0], 0.05 / std::numbers::pi, 1e-6);
  EXPECT_NEAR(edges.dz[0], 10.0 / 400, 1e-6);
  const double deta = std::asinh(30.0 / 100) - std::asinh(20.0 / 50);
  EXPECT_NEAR(edges.dR[0], std::sqrt(deta * deta + 0.05 * 0.05), 1e-6);
  EXPECT_EQ(edges.truth[0], 1);
  EXPECT_EQ(edges.truth[1], 0);
}

TEST(GraphBuilder, NoHitsOrNoPairsGiveNoEdges) {
  GraphBuilder builder;
  auto none = hits_at({});
  EXPECT_EQ(builder.build(none.view()).size(), 0U);
  auto one = hits_at({{50, 0, 0, 1}});
  EXPECT_EQ(builder.build(one.view()).size(), 0U);
  auto apart = hits_at({{50, 0, 0, 1}, {90, 2, 0, 2}});
  EXPECT_EQ(builder.build(apart.view()).size(), 0U);
}

TEST(GraphBuilder, ReusesItsMemory) {
  Event event = generate({}, 0);
  GraphBuilder builder;
  const auto* address = builder.build(event.hits.view()).data();
  Event smaller = generate({.particles = 100}, 1);
  builder.build(smaller.hits.view());
  EXPECT_EQ(builder.build(event.hits.view()).data(), address);
}

TEST(GraphBuilder, RejectsCoordinatesThatAreNotFinite) {
  GraphBuilder builder;
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    auto hits = hits_at({{50, 0, 0, 1}, {90, 0, 0, 2}});
    hits.view().y[1] = bad;
    EXPECT_THROW(builder.build(hits.view()), InputError);
  }
}

TEST(GraphBuilder, RejectsImpossibleCuts) {
  EXPECT_THROW(GraphBuilder(GraphCuts{.min_dr = -1}), ConfigError);
  EXPECT_THROW(GraphBuilder(GraphCuts{.max_z0 = std::numeric_limits<double>::quiet_NaN()}),
               ConfigError);
}

TEST(GraphBuilder, GivesTheKnownEdgesOfTheTrackMlEvent) {
  const std::filesystem::path path = TENSOA_SHARED_DATA "/trackml/event000000001-hits.csv.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no shared data";
  Event event = read_event(path);
  GraphBuilder builder;
  const auto edges = builder.build(event.hits.view()).const_view();
  EXPECT_EQ(edges.size(), 60'023U);
  std::size_t true_edges = 0;
  for (std::size_t e = 0; e < edges.size(); ++e) true_edges += edges.truth[e];
  EXPECT_EQ(true_edges, 10'302U);
}

TEST(GraphBuilder, AgreesWithAllPairsOnLargeRadiusTracking) {
  const std::filesystem::path path = TENSOA_SHARED_DATA "/lrt/evt_7.csv.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no shared data";
  Event event = read_event(path);
  expect_same_as_all_pairs(event.hits);
}

}  // namespace
}  // namespace tensoa::track
