// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "track_truth.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tensoa::tools {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

track::TrackCounts known_counts() {
  track::TrackCounts counts;
  counts.events = counts.events_with_particles = counts.events_with_edges = 2;
  counts.tracks = 50;
  counts.fakes = 5;
  counts.duplicates = 1;
  const track::ParticleCounts particles{
      .particles = 10, .found = 6, .with_edges = 10, .findable = 8, .findable_found = 5};
  counts.all.fill(particles);
  counts.primary.fill(particles);
  counts.against_pt.add(0.55, particles);
  counts.against_eta.add(7, particles);
  return counts;
}

TEST(TrackTruth, HasCountsAndRatios) {
  const json value = to_json(known_counts());
  EXPECT_EQ(value["fakes"], 5);
  EXPECT_EQ(value["fake_rate"], 0.1);
  EXPECT_EQ(value["duplicate_rate"], 0.02);
  for (const char* kind : {"all", "primary"}) {
    ASSERT_EQ(value[kind].size(), track::kCategories.size());
    const json& category = value[kind]["min_pt_0_5_gev"];
    EXPECT_EQ(category["min_pt"], 0.5);
    EXPECT_EQ(category["min_hits"], 3);
    EXPECT_EQ(category["particles"], 10);
    EXPECT_EQ(category["found"], 6);
    EXPECT_EQ(category["efficiency"], 0.6);
    EXPECT_LT(category["efficiency_low"], 0.6);
    EXPECT_GT(category["efficiency_high"], 0.6);
    EXPECT_EQ(category["ceiling"], 0.8);
    EXPECT_EQ(category["technical_efficiency"], 0.625);
  }
  EXPECT_EQ(value["notes"], json::array());
}

TEST(TrackTruth, HasBinsAsLists) {
  const json value = to_json(known_counts());
  const json& pt = value["against_pt"];
  ASSERT_EQ(pt["edges"].size(), 21U);
  for (const char* list : {"particles", "found", "efficiency", "efficiency_low", "ceiling"}) {
    EXPECT_EQ(pt[list].size(), 20U) << list;
  }
  EXPECT_EQ(pt["particles"][7], 10);  // 0.50 to 0.63 GeV
  EXPECT_EQ(pt["efficiency"][7], 0.6);
  EXPECT_EQ(pt["efficiency"][6], json());
  EXPECT_EQ(pt["outside"]["particles"], 0);
  EXPECT_EQ(value["against_eta"]["outside"]["found"], 6);
}

TEST(TrackTruth, WithoutAParticleTableIsNullAndSaysSo) {
  track::TrackCounts counts = known_counts();
  counts.events_with_particles = 0;
  const json value = to_json(counts);
  for (const char* member : {"primary", "against_pt", "against_eta"}) {
    EXPECT_EQ(value[member], json()) << member;
  }
  EXPECT_EQ(value["all"]["min_pt_1_gev"], json());
  EXPECT_EQ(value["all"]["min_hits_5"]["found"], 6);
  EXPECT_THAT(to_lines(counts), HasSubstr("2 of 2 events with truth have no particle table"));
  EXPECT_THAT(to_lines(counts),
              HasSubstr("all particles found: >= 3 hits 60.00 % (ceiling 80.00 %), >= 5 hits"));
  EXPECT_THAT(to_lines(counts), Not(HasSubstr("GeV")));
}

TEST(TrackTruth, WithoutEdgesTheCeilingIsNullAndSaysSo) {
  track::TrackCounts counts = known_counts();
  counts.events_with_edges = 0;
  for (auto& category : counts.primary) category = {.particles = 10, .found = 6};
  const json value = to_json(counts);
  const json& category = value["primary"]["min_hits_3"];
  for (const char* member :
       {"with_edges", "findable", "findable_found", "ceiling", "technical_efficiency"}) {
    EXPECT_EQ(category[member], json()) << member;
    EXPECT_EQ(value["against_pt"][member][7], json()) << member;
  }
  EXPECT_EQ(category["efficiency"], 0.6);
  EXPECT_THAT(to_lines(counts), HasSubstr("primary particles found: >= 3 hits 60.00 %, >= 5"));
  EXPECT_THAT(to_lines(counts), HasSubstr("not computed for 2 of 2 events"));
}

TEST(TrackTruth, ParticlesThatTheTableLacksAreSaid) {
  track::TrackCounts counts = known_counts();
  counts.unlisted = 4;
  EXPECT_THAT(to_lines(counts),
              HasSubstr("not in the particle table of their event: 4 of 10 particles"));
  EXPECT_EQ(to_json(counts)["unlisted"], 4);
}

TEST(TrackTruth, RatiosOfNothingAreNull) {
  track::TrackCounts counts;
  counts.events = counts.events_with_particles = counts.events_with_edges = 1;
  const json value = to_json(counts);
  EXPECT_EQ(value["fake_rate"], json());
  EXPECT_EQ(value["primary"]["min_hits_3"]["efficiency"], json());
  EXPECT_EQ(value["primary"]["min_hits_3"]["findable"], 0);
  EXPECT_THAT(to_lines(counts), HasSubstr("tracks: – fake, – duplicate"));
}

}  // namespace
}  // namespace tensoa::tools
