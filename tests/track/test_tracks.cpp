// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/tracks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "tensoa/core/error.hpp"
#include "tensoa/events/impl/random.hpp"
#include "tracks_one_by_one.hpp"

namespace tensoa::track {
namespace {

struct Link {
  std::int64_t source, target;
  float score;
};

PortableCollection<Edge> edges_of(const std::vector<Link>& links) {
  PortableCollection<Edge> collection(links.size(), Device::cpu());
  const auto edges = collection.view();
  for (std::size_t e = 0; e < links.size(); ++e) {
    edges.source[e] = links[e].source;
    edges.target[e] = links[e].target;
    edges.score[e] = links[e].score;
  }
  return collection;
}

std::vector<std::int64_t> track_ids(std::size_t n_hits, const std::vector<Link>& links,
                                    const TrackOptions& options = {},
                                    std::size_t* n_tracks = nullptr) {
  PortableCollection<Hit> hits(n_hits, Device::cpu());
  std::fill_n(hits.view().layer.data(), n_hits, 0);
  TrackFinder finder(options);
  const std::size_t tracks = finder.find(hits.view(), edges_of(links).const_view());
  if (n_tracks != nullptr) *n_tracks = tracks;
  const auto ids = hits.view().track_id.data();
  return {ids, ids + n_hits};
}

// Connected groups by breadth-first search, numbered by their first hit.
std::vector<std::int64_t> groups(std::size_t n_hits, const std::vector<Link>& links,
                                 const TrackOptions& options) {
  std::vector<std::vector<std::size_t>> neighbours(n_hits);
  for (const Link& link : links) {
    if (link.score < options.min_score) continue;
    neighbours[static_cast<std::size_t>(link.source)].push_back(
        static_cast<std::size_t>(link.target));
    neighbours[static_cast<std::size_t>(link.target)].push_back(
        static_cast<std::size_t>(link.source));
  }
  std::vector<std::int64_t> ids(n_hits, -1);
  std::vector<bool> seen(n_hits, false);
  std::int64_t next = 0;
  for (std::size_t start = 0; start < n_hits; ++start) {
    if (seen[start]) continue;
    std::vector<std::size_t> group{start};
    seen[start] = true;
    for (std::size_t k = 0; k < group.size(); ++k) {
      for (const std::size_t other : neighbours[group[k]]) {
        if (!seen[other]) group.push_back(other);
        seen[other] = true;
      }
    }
    if (group.size() < options.min_hits) continue;
    for (const std::size_t hit : group) ids[hit] = next;
    ++next;
  }
  return ids;
}

TEST(TrackFinder, AgreesWithBreadthFirstSearch) {
  events::Random random(21);
  for (const std::int64_t n_edges : {0, 20, 150, 400, 3000}) {
    constexpr std::size_t kHits = 300;
    std::vector<Link> links;
    for (std::int64_t e = 0; e < n_edges; ++e) {
      links.push_back(
          {random.below(kHits), random.below(kHits), static_cast<float>(random.uniform())});
    }
    for (const TrackOptions options :
         {TrackOptions{}, TrackOptions{0.8F, 1}, TrackOptions{0.2F, 5}}) {
      EXPECT_EQ(track_ids(kHits, links, options), groups(kHits, links, options));
    }
  }
}

TEST(TrackFinder, TakesEdgesInFallingOrderUnlessLayersContradict) {
  events::Random random(5);
  for (int round = 0; round < 200; ++round) {
    constexpr std::size_t kHits = 120;
    PortableCollection<Hit> hits(kHits, Device::cpu());
    const View<Hit> hit = hits.view();
    for (std::size_t i = 0; i < kHits; ++i) {
      hit.layer[i] = static_cast<std::int32_t>(random.below(9));  // 0: unknown
      hit.x[i] = static_cast<float>(random.uniform(0, 60));
      hit.y[i] = static_cast<float>(random.uniform(0, 10));
      hit.z[i] = static_cast<float>(random.uniform(0, 10));
    }
    std::vector<Link> links;
    for (std::int64_t e = 0; e < 40 * (1 + round % 12); ++e) {
      // Of few values, so that equal ones come.
      links.push_back(
          {random.below(kHits), random.below(kHits), static_cast<float>(random.below(20)) / 19.0F});
    }
    const auto edges = edges_of(links);
    for (const TrackOptions& options :
         {TrackOptions{}, TrackOptions{.min_score = 0, .min_hits = 1},
          TrackOptions{.min_score = 0.2F, .max_layer_distance = 0},
          TrackOptions{.min_score = 0.1F, .max_layer_distance = 12}}) {
      TrackFinder(options).find(hits.view(), edges.const_view());
      const auto ids = hit.track_id.data();
      EXPECT_EQ((std::vector<std::int64_t>{ids, ids + kHits}),
                tracks_one_by_one(hits.const_view(), edges.const_view(), options));
    }
  }
}

TEST(TrackFinder, KeepsHitsOfOneLayerTogetherOnlyWhereModulesOverlap) {
  PortableCollection<Hit> hits(5, Device::cpu());
  const View<Hit> hit = hits.view();
  const std::int32_t layers[] = {1, 2, 2, 3, 2};
  const float x[] = {30, 70, 72, 110, 140};  // the last hit of layer 2 is another particle's
  for (std::size_t i = 0; i < 5; ++i) {
    hit.layer[i] = layers[i];
    hit.x[i] = x[i];
    hit.y[i] = hit.z[i] = 0;
  }
  const auto edges = edges_of({{0, 1, 0.9F}, {0, 2, 0.8F}, {1, 3, 0.95F}, {3, 4, 0.7F}});
  EXPECT_EQ(TrackFinder().find(hits.view(), edges.const_view()), 1U);
  EXPECT_EQ((std::vector<std::int64_t>{hit.track_id.data(), hit.track_id.data() + 5}),
            (std::vector<std::int64_t>{0, 0, 0, 0, -1}));
  constexpr float kAnywhere = std::numeric_limits<float>::infinity();
  TrackFinder({.max_layer_distance = kAnywhere}).find(hits.view(), edges.const_view());
  EXPECT_EQ(hit.track_id[4], 0);
}

TEST(TrackFinder, RefusesADistanceThatIsNone) {
  EXPECT_THROW(TrackFinder({.max_layer_distance = -1}), ConfigError);
  EXPECT_THROW(TrackFinder({.max_layer_distance = std::numeric_limits<float>::quiet_NaN()}),
               ConfigError);
}

TEST(TrackFinder, NumbersTracksByTheirFirstHit) {
  std::size_t tracks = 0;
  EXPECT_EQ(track_ids(7, {{6, 4, 1}, {4, 1, 1}, {5, 0, 1}, {2, 5, 1}}, {}, &tracks),
            (std::vector<std::int64_t>{0, 1, 0, -1, 1, 0, 1}));
  EXPECT_EQ(tracks, 2U);
}

TEST(TrackFinder, TakesScoresAtTheCutAndDropsNan) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(track_ids(3, {{0, 1, 0.5F}, {1, 2, 0.5F}}), (std::vector<std::int64_t>{0, 0, 0}));
  EXPECT_EQ(track_ids(3, {{0, 1, 0.5F}, {1, 2, 0.49F}}), (std::vector<std::int64_t>{-1, -1, -1}));
  EXPECT_EQ(track_ids(3, {{0, 1, 0.5F}, {1, 2, kNan}}), (std::vector<std::int64_t>{-1, -1, -1}));
}

TEST(TrackFinder, NoEdgesGiveNoTracksAndNoHitsAreFine) {
  std::size_t tracks = 1;
  EXPECT_EQ(track_ids(4, {}, {}, &tracks), (std::vector<std::int64_t>{-1, -1, -1, -1}));
  EXPECT_EQ(tracks, 0U);
  EXPECT_TRUE(track_ids(0, {}).empty());
}

TEST(TrackFinder, WorkspaceDoesNotLeakIntoTheNextEvent) {
  TrackFinder finder;
  PortableCollection<Hit> large(50, Device::cpu());
  finder.find(large.view(), edges_of({{0, 1, 1}, {1, 2, 1}}).const_view());
  PortableCollection<Hit> small(3, Device::cpu());
  EXPECT_EQ(finder.find(small.view(), edges_of({}).const_view()), 0U);
  EXPECT_EQ(finder.find(large.view(), edges_of({{7, 8, 1}, {8, 9, 1}}).const_view()), 1U);
  EXPECT_EQ(large.view().track_id[0], -1);
  EXPECT_EQ(large.view().track_id[7], 0);
}

TEST(TrackFinder, RejectsEdgesToHitsThatAreNotThere) {
  EXPECT_THROW(track_ids(3, {{0, 3, 1}}), InputError);
  EXPECT_THROW(track_ids(3, {{-1, 0, 1}}), InputError);
  PortableCollection<Hit> hits(3, Device::cpu());
  hits.view().track_id[1] = 77;
  EXPECT_THROW(TrackFinder().find(hits.view(), edges_of({{0, 1, 1}, {1, 3, 1}}).const_view()),
               InputError);
  EXPECT_EQ(hits.view().track_id[1], 77) << "nothing is written";
}

}  // namespace
}  // namespace tensoa::track
