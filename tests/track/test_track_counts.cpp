// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/track_counts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "tensoa/core/error.hpp"
#include "tensoa/events/impl/random.hpp"
#include "tensoa/track/generator.hpp"
#include "tensoa/track/graph_builder.hpp"

namespace tensoa::track {
namespace {

struct Assigned {
  std::int64_t particle, track;
};

struct Joined {
  std::int64_t source, target;
  bool is_true = true;
};

struct Produced {
  std::int64_t id;
  float pt = 1;
  float pz = 0;
  float radius = 0;
  std::int32_t charge = 1;
};

PortableCollection<Hit> hits_of(const std::vector<Assigned>& assigned) {
  PortableCollection<Hit> collection(assigned.size(), Device::cpu());
  const auto hits = collection.view();
  for (std::size_t i = 0; i < assigned.size(); ++i) {
    hits.particle_id[i] = assigned[i].particle;
    hits.track_id[i] = assigned[i].track;
  }
  return collection;
}

PortableCollection<Edge> edges_of(const std::vector<Joined>& joined) {
  PortableCollection<Edge> collection(joined.size(), Device::cpu());
  const auto edges = collection.view();
  for (std::size_t e = 0; e < joined.size(); ++e) {
    edges.source[e] = joined[e].source;
    edges.target[e] = joined[e].target;
    edges.truth[e] = joined[e].is_true ? 1 : 0;
  }
  return collection;
}

PortableCollection<Particle> table_of(const std::vector<Produced>& produced) {
  PortableCollection<Particle> collection(produced.size(), Device::cpu());
  const auto particles = collection.view();
  for (std::size_t p = 0; p < produced.size(); ++p) {
    particles.particle_id[p] = produced[p].id;
    particles.vx[p] = 0.6F * produced[p].radius;
    particles.vy[p] = -0.8F * produced[p].radius;
    particles.vz[p] = 123;
    particles.px[p] = -0.8F * produced[p].pt;
    particles.py[p] = 0.6F * produced[p].pt;
    particles.pz[p] = produced[p].pz;
    particles.charge[p] = produced[p].charge;
  }
  return collection;
}

TrackCounts counts_of(const std::vector<Assigned>& assigned) {
  return count_tracks(hits_of(assigned).const_view());
}

TrackCounts counts_of(const std::vector<Assigned>& assigned, const std::vector<Joined>& joined) {
  const auto edges = edges_of(joined);
  return count_tracks(hits_of(assigned).const_view(), {}, edges.const_view());
}

TrackCounts counts_of(const std::vector<Assigned>& assigned,
                      const std::vector<Produced>& produced) {
  const auto table = table_of(produced);
  return count_tracks(hits_of(assigned).const_view(), table.const_view());
}

/// Each particle has `hits` hits on a track that nothing else has.
std::vector<Assigned> own_tracks(const std::vector<std::int64_t>& particles, int hits = 3) {
  std::vector<Assigned> assigned;
  for (const std::int64_t id : particles) {
    for (int i = 0; i < hits; ++i) assigned.push_back({id, 100 + id});
  }
  return assigned;
}

std::size_t found(const std::vector<Assigned>& assigned) {
  return counts_of(assigned).all[0].found;
}

TEST(TrackCounts, NeedsBothMajorities) {
  // All hits are on one found track.
  EXPECT_EQ(found({{7, 0}, {7, 0}, {7, 0}}), 1U);
  // Half of the particle's hits are not more than half.
  EXPECT_EQ(found({{7, 0}, {7, 0}, {7, 1}, {7, 1}}), 0U);
  EXPECT_EQ(found({{7, 0}, {7, 0}, {7, 0}, {7, -1}, {7, -1}}), 1U);
  // Half of the track's hits are not more than half; noise counts as a hit of the track.
  EXPECT_EQ(found({{7, 0}, {7, 0}, {7, 0}, {0, 0}, {0, 0}, {0, 0}}), 0U);
  EXPECT_EQ(found({{7, 0}, {7, 0}, {7, 0}, {8, 0}, {0, 0}}), 1U);
}

TEST(TrackCounts, ParticlesWithFewHitsDoNotCount) {
  const TrackCounts counts =
      counts_of({{7, 0}, {7, 0}, {0, 0}, {8, 1}, {8, 1}, {8, 1}, {9, -1}, {9, -1}, {9, -1}});
  EXPECT_EQ(counts.all[0].particles, 2U);
  EXPECT_EQ(counts.all[0].found, 1U);
  EXPECT_EQ(counts.tracks, 2U);
  EXPECT_DOUBLE_EQ(*counts.efficiency(), 0.5);
}

TEST(TrackCounts, TracksWithoutAMajorityAreFakes) {
  const auto fakes = [](const std::vector<Assigned>& assigned) {
    return counts_of(assigned).fakes;
  };
  EXPECT_EQ(fakes({{7, 0}, {7, 0}, {8, 0}}), 0U);
  EXPECT_EQ(fakes({{7, 0}, {7, 0}, {8, 0}, {8, 0}}), 1U);
  EXPECT_EQ(fakes({{7, 0}, {8, 0}, {9, 0}}), 1U);
  // Noise is not a particle.
  EXPECT_EQ(fakes({{0, 0}, {0, 0}, {0, 0}}), 1U);
  // A part of a particle is not a fake.
  EXPECT_EQ(fakes({{7, 0}, {7, 0}, {7, 0}, {7, 1}, {7, 1}, {7, 1}}), 0U);
}

TEST(TrackCounts, FurtherTracksOfAParticleAreDuplicates) {
  const TrackCounts counts = counts_of({{7, 0},
                                        {7, 0},
                                        {7, 0},
                                        {7, 1},
                                        {7, 1},
                                        {7, 1},
                                        {7, 1},
                                        {7, 2},
                                        {7, 2},
                                        {7, 2},
                                        {0, 2},
                                        {8, 3},
                                        {8, 3},
                                        {8, 3}});
  EXPECT_EQ(counts.tracks, 4U);
  EXPECT_EQ(counts.fakes, 0U);
  EXPECT_EQ(counts.duplicates, 2U);
  EXPECT_EQ(counts.all[0].found, 1U);
  EXPECT_DOUBLE_EQ(*counts.duplicate_rate(), 0.5);
  EXPECT_DOUBLE_EQ(*counts.fake_rate(), 0);
}

TEST(TrackCounts, FindableIsWhatTrueEdgesAloneConnect) {
  const std::vector<Assigned> hits{{7, 0}, {7, 0}, {7, 0}, {7, -1}, {7, -1}, {7, -1}, {8, 0}};
  const auto findable = [&](const std::vector<Joined>& joined) {
    return counts_of(hits, joined).all[0].findable;
  };
  EXPECT_EQ(findable({{0, 1}, {1, 2}, {2, 3}}), 1U);
  EXPECT_EQ(findable({{0, 1}, {1, 2}}), 0U);                  // three of six
  EXPECT_EQ(findable({{0, 1}, {1, 2}, {3, 4}, {4, 5}}), 0U);  // two groups of three
  EXPECT_EQ(findable({{3, 0}, {0, 5}, {5, 4}, {4, 3}}), 1U);  // in a ring
  EXPECT_EQ(findable({{0, 1}, {1, 2}, {2, 6, false}, {6, 3, false}}), 0U);
}

TEST(TrackCounts, FindableRequiresTheNumberOfHitsOfATrack) {
  const std::vector<Assigned> hits{{7, 0}, {7, 0}, {7, 0}};
  EXPECT_EQ(counts_of(hits, std::vector<Joined>{{0, 1}}).all[0].findable, 0U);
  EXPECT_EQ(counts_of(hits, std::vector<Joined>{{0, 1}, {1, 2}}).all[0].findable, 1U);
}

TEST(TrackCounts, TechnicalEfficiencyIsThatOfFindableParticles) {
  // 7 is findable and found, 8 findable alone, 9 found alone.
  const TrackCounts counts =
      counts_of({{7, 0}, {7, 0}, {7, 0}, {8, -1}, {8, -1}, {8, -1}, {9, 1}, {9, 1}, {9, 1}},
                std::vector<Joined>{{0, 1}, {1, 2}, {3, 4}, {4, 5}});
  EXPECT_EQ(counts.events_with_edges, 1U);
  EXPECT_EQ(counts.all[0].findable, 2U);
  EXPECT_DOUBLE_EQ(*counts.all[0].efficiency(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(*counts.all[0].ceiling(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(*counts.all[0].technical_efficiency(), 0.5);
}

TEST(TrackCounts, HasNoCeilingWithoutEdges) {
  const TrackCounts counts = counts_of(own_tracks({7}));
  EXPECT_EQ(counts.events_with_edges, 0U);
  EXPECT_FALSE(counts.all[0].ceiling().has_value());
  EXPECT_FALSE(counts.all[0].technical_efficiency().has_value());
  // An event of which no edge is a candidate is another thing.
  EXPECT_EQ(counts_of(own_tracks({7}), std::vector<Joined>{}).all[0].ceiling(), 0.0);
}

TEST(TrackCounts, RejectsEdgesOfOtherHits) {
  for (const std::int64_t row : {-1, 3}) {
    EXPECT_THAT(
        [&] {
          counts_of(own_tracks({7}), std::vector<Joined>{{0, 1}, {1, row}});
        },
        testing::ThrowsMessage<InputError>(testing::HasSubstr(
            "edge 1 joins rows 1 and " + std::to_string(row) + ", expected rows of the 3 hits")));
  }
}

TEST(TrackCounts, PrimaryParticlesHaveChargeAndComeFromTheBeamLine) {
  const TrackCounts counts = counts_of(own_tracks({1, 2, 3, 4}), {{.id = 1, .radius = 1.99F},
                                                                  {.id = 2, .radius = 2.01F},
                                                                  {.id = 3, .charge = 0},
                                                                  {.id = 4, .charge = -1}});
  EXPECT_EQ(counts.all[0].particles, 4U);
  EXPECT_EQ(counts.primary[0].particles, 2U);
  EXPECT_EQ(counts.events_with_particles, 1U);
}

TEST(TrackCounts, CategoriesCutOnHitsAndMomentum) {
  std::vector<Assigned> hits = own_tracks({1, 2, 3}, 4);
  for (const Assigned& hit : own_tracks({4}, 5)) hits.push_back(hit);
  for (const Assigned& hit : own_tracks({5}, 2)) hits.push_back(hit);
  const TrackCounts counts =
      counts_of(hits, {{1, 0.49F}, {2, 0.5F}, {3, 1.01F, 0, /*radius=*/30}, {4, 2}, {5, 3}});
  const auto particles = [](const CategoryCounts& categories) {
    std::vector<std::size_t> n;
    for (const ParticleCounts& category : categories) n.push_back(category.particles);
    return n;
  };
  EXPECT_EQ(particles(counts.all), (std::vector<std::size_t>{4, 1, 3, 2}));
  EXPECT_EQ(particles(counts.primary), (std::vector<std::size_t>{3, 1, 2, 1}));
}

TEST(TrackCounts, BinsHoldPrimaryParticles) {
  const TrackCounts counts = counts_of(
      own_tracks({1, 2, 3, 4, 5}),
      {{1, 0.11F, 0.01F}, {2, 9.9F, -9.9F}, {3, 0.09F}, {4, 11}, {5, 1, 0, /*radius=*/30}});
  EXPECT_EQ(counts.against_pt.edges().size(), 21U);
  EXPECT_DOUBLE_EQ(counts.against_pt.edges().front(), 0.1);
  EXPECT_DOUBLE_EQ(counts.against_pt.edges().back(), 10);
  EXPECT_EQ(counts.against_pt.bins().front().particles, 1U);
  EXPECT_EQ(counts.against_pt.bins().back().particles, 1U);
  EXPECT_EQ(counts.against_pt.outside().particles, 2U);
  EXPECT_EQ(counts.against_eta.edges().front(), -4);
  EXPECT_EQ(counts.against_eta.edges().back(), 4);
  EXPECT_EQ(counts.against_eta.bins()[8].particles, 3U);
  EXPECT_EQ(counts.against_eta.bins()[6].particles, 1U);  // asinh(-1) = -0.88
  EXPECT_EQ(counts.against_eta.outside().particles, 0U);
}

TEST(TrackCounts, WithoutAParticleTableNothingIsPrimary) {
  const TrackCounts counts = counts_of(own_tracks({7}));
  EXPECT_EQ(counts.events, 1U);
  EXPECT_EQ(counts.events_with_particles, 0U);
  EXPECT_EQ(counts.all[0].particles, 1U);
  EXPECT_EQ(counts.all[2].particles, 0U);
  EXPECT_EQ(counts.primary[0].particles, 0U);
  EXPECT_EQ(counts.unlisted, 0U);
}

TEST(TrackCounts, ParticlesThatTheTableLacksAreUnlisted) {
  std::vector<Assigned> hits = own_tracks({7, 8});
  hits.push_back({9, -1});  // too few hits to count
  const TrackCounts counts = counts_of(hits, std::vector<Produced>{{8}, {10}});
  EXPECT_EQ(counts.unlisted, 1U);
  EXPECT_EQ(counts.all[0].particles, 2U);
  EXPECT_EQ(counts.all[2].particles, 1U);
  EXPECT_EQ(counts.primary[0].particles, 1U);
}

TEST(TrackCounts, RejectsATableWithAParticleTwice) {
  EXPECT_THAT(
      [] {
        counts_of(own_tracks({7}), std::vector<Produced>{{7}, {7}});
      },
      testing::ThrowsMessage<InputError>(
          testing::HasSubstr("particle_id 7 is duplicated in the particle table")));
}

TEST(TrackCounts, MomentumThatIsNotANumberIsInNoBin) {
  const TrackCounts counts =
      counts_of(own_tracks({7, 8}), std::vector<Produced>{{7, std::nanf("")}, {8, 0}});
  EXPECT_EQ(counts.primary[0].particles, 2U);
  EXPECT_EQ(counts.primary[2].particles, 0U);
  EXPECT_EQ(counts.against_pt.outside().particles, 2U);
  EXPECT_EQ(counts.against_eta.outside().particles, 2U);
}

TEST(TrackCounts, AddsUpOverEvents) {
  TrackCounts counts = counts_of(own_tracks({1, 2}), std::vector<Produced>{{1}, {2}});
  counts += counts_of({{7, -1}, {7, -1}, {7, -1}, {0, 4}, {0, 4}, {0, 4}});
  EXPECT_EQ(counts.events, 2U);
  EXPECT_EQ(counts.events_with_particles, 1U);
  EXPECT_EQ(counts.tracks, 3U);
  EXPECT_EQ(counts.fakes, 1U);
  EXPECT_DOUBLE_EQ(*counts.efficiency(), 2.0 / 3);
  EXPECT_EQ(counts.primary[0].particles, 2U);
  EXPECT_EQ(counts.against_pt.bins()[10].found, 2U);
}

TEST(TrackCounts, CountsManyParticles) {
  std::vector<std::int64_t> ids;
  std::vector<Produced> produced;
  for (std::int64_t id = 1; id <= 5000; ++id) {
    ids.push_back(id << 40U);
    produced.push_back({.id = ids.back()});
  }
  const TrackCounts counts = counts_of(own_tracks(ids), produced);
  EXPECT_EQ(counts.tracks, 5000U);
  EXPECT_EQ(counts.primary[3].found, 5000U);
}

TEST(TrackCounts, EmptyEventsCountAsEvents) {
  const TrackCounts counts = counts_of({});
  EXPECT_EQ(counts.events, 1U);
  EXPECT_EQ(counts.tracks, 0U);
  EXPECT_FALSE(counts.efficiency().has_value());
  EXPECT_FALSE(counts.fake_rate().has_value());
  EXPECT_FALSE(counts.duplicate_rate().has_value());
}

TEST(TrackCounts, NoTruthGivesNoParticles) {
  const TrackCounts counts = counts_of({{0, 0}, {0, 0}, {0, 0}});
  EXPECT_EQ(counts.all[0].particles, 0U);
  EXPECT_EQ(counts.tracks, 1U);
}

// ---- the same figures, counted as their definitions say and no faster ----

struct Slow {
  std::size_t particles = 0, found = 0, findable = 0, findable_found = 0;
  std::size_t tracks = 0, fakes = 0, duplicates = 0;

  bool operator==(const Slow&) const = default;
};

using Rows = std::set<std::size_t>;

std::size_t common(const Rows& a, const Rows& b) {
  std::size_t n = 0;
  for (const std::size_t row : a) n += b.count(row);
  return n;
}

/// The largest group of `rows` that edges with truth connect.
std::size_t largest_group(const Rows& rows, const ConstView<Edge>& edges) {
  std::size_t most = 0;
  for (const std::size_t start : rows) {
    Rows group{start};
    for (std::size_t before = 0; before != group.size();) {
      before = group.size();
      for (std::size_t e = 0; e < edges.size(); ++e) {
        const auto source = static_cast<std::size_t>(edges.source[e]);
        const auto target = static_cast<std::size_t>(edges.target[e]);
        if (edges.truth[e] == 0) continue;
        if (group.contains(source)) group.insert(target);
        if (group.contains(target)) group.insert(source);
      }
    }
    most = std::max(most, group.size());
  }
  return most;
}

Slow count_slowly(const ConstView<Hit>& hits, const ConstView<Edge>& edges) {
  std::map<std::int64_t, Rows> particles;
  std::map<std::int64_t, Rows> tracks;
  for (std::size_t i = 0; i < hits.size(); ++i) {
    if (hits.particle_id[i] != 0) particles[hits.particle_id[i]].insert(i);
    if (hits.track_id[i] >= 0) tracks[hits.track_id[i]].insert(i);
  }
  Slow slow;
  slow.tracks = tracks.size();
  std::map<std::int64_t, std::size_t> matched;
  for (const auto& [track_id, track] : tracks) {
    bool is_matched = false;
    for (const auto& [id, particle] : particles) {
      if (2 * common(track, particle) <= track.size()) continue;
      is_matched = true;
      slow.duplicates += matched[id]++ > 0 ? 1 : 0;
    }
    slow.fakes += is_matched ? 0 : 1;
  }
  for (const auto& [id, particle] : particles) {
    if (particle.size() < 3) continue;
    ++slow.particles;
    bool is_found = false;
    for (const auto& [track_id, track] : tracks) {
      const std::size_t n = common(track, particle);
      is_found = is_found || (2 * n > track.size() && 2 * n > particle.size());
    }
    const std::size_t most = largest_group(particle, edges);
    const bool is_findable = most >= 3 && 2 * most > particle.size();
    slow.found += is_found ? 1 : 0;
    slow.findable += is_findable ? 1 : 0;
    slow.findable_found += is_found && is_findable ? 1 : 0;
  }
  return slow;
}

Slow counted(const TrackCounts& counts) {
  const ParticleCounts& all = counts.all[0];
  return {all.particles, all.found,    all.findable,     all.findable_found,
          counts.tracks, counts.fakes, counts.duplicates};
}

TEST(TrackCounts, AgreesWithTheDefinitionsOnRandomEvents) {
  events::Random random(32);
  Slow seen;
  for (int event = 0; event < 300; ++event) {
    const std::int64_t ids = 1 + random.below(6);
    std::vector<Assigned> assigned;
    for (std::int64_t i = random.below(40); i > 0; --i) {
      const std::int64_t id = random.below(ids + 1);
      // Most hits of a particle share a track, or one of two.
      const std::int64_t track =
          random.chance(0.7) ? 10 * id + (random.chance(0.8) ? 0 : 1) : random.below(70) - 10;
      assigned.push_back({id * 4'503'668'346'847'232, track});
    }
    std::vector<Joined> joined;
    const std::int64_t rows = std::ssize(assigned);
    for (std::int64_t i = rows == 0 ? 0 : random.below(5 * rows); i > 0; --i) {
      const std::int64_t a = random.below(rows);
      const std::int64_t b = random.below(rows);
      const std::int64_t id = assigned[static_cast<std::size_t>(a)].particle;
      joined.push_back({a, b, id != 0 && id == assigned[static_cast<std::size_t>(b)].particle});
    }
    const auto hits = hits_of(assigned);
    const auto edges = edges_of(joined);
    const Slow expected = count_slowly(hits.const_view(), edges.const_view());
    const TrackCounts counts = count_tracks(hits.const_view(), {}, edges.const_view());
    ASSERT_EQ(counted(counts), expected) << "event " << event;
    seen.found += expected.found;
    seen.findable_found += expected.findable_found;
    seen.fakes += expected.fakes;
    seen.duplicates += expected.duplicates;
  }
  EXPECT_GT(std::min({seen.found, seen.findable_found, seen.fakes, seen.duplicates}), 50U);
}

TEST(TrackCounts, CountsAGeneratedEventWithItsParticles) {
  Event event = generate({.seed = 77, .particles = 300}, 0);
  GraphBuilder builder;
  const auto& edges = builder.build(event.hits.view());
  for (std::size_t i = 0; i < event.hits.size(); ++i) {
    event.hits.view().track_id[i] = event.hits.view().particle_id[i] - 1;
  }
  const TrackCounts counts =
      count_tracks(event.hits.const_view(), event.particles.const_view(), edges.const_view());
  EXPECT_EQ(counts.efficiency(), 1.0);
  EXPECT_EQ(counts.fakes + counts.duplicates + counts.unlisted, 0U);
  // 18 % of the particles are secondary ones.
  EXPECT_LT(counts.primary[0].particles, counts.all[0].particles);
  EXPECT_GT(2 * counts.primary[0].particles, counts.all[0].particles);
  EXPECT_GT(*counts.all[0].ceiling(), 0.7);
  EXPECT_LT(*counts.all[0].ceiling(), 1);
  ParticleCounts in_bins = counts.against_pt.outside();
  for (const ParticleCounts& bin : counts.against_pt.bins()) in_bins += bin;
  EXPECT_EQ(in_bins.particles, counts.primary[0].particles);
  EXPECT_EQ(in_bins.findable_found, counts.primary[0].findable_found);
}

}  // namespace
}  // namespace tensoa::track
