// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tensoa/events/impl/random.hpp"
#include "tensoa/track/generator.hpp"
#include "tensoa/track/graph_builder.hpp"
#include "tensoa/track/impl/edge_search.hpp"
#include "tensoa/track/impl/track_groups.hpp"
#include "tensoa/track/tracks.hpp"

namespace tensoa::track {

/// The first of `n` values that differs in a bit; n where none does.
template <class T>
std::size_t first_difference(const T* a, const T* b, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    if (std::memcmp(a + i, b + i, sizeof(T)) != 0) return i;
  }
  return n;
}

inline void expect_same_edges(ConstView<Edge> got, ConstView<Edge> expected) {
  ASSERT_EQ(got.size(), expected.size());
  const std::size_t n = got.size();
  EXPECT_EQ(first_difference(got.source.data(), expected.source.data(), n), n);
  EXPECT_EQ(first_difference(got.target.data(), expected.target.data(), n), n);
  EXPECT_EQ(first_difference(got.dr.data(), expected.dr.data(), n), n);
  EXPECT_EQ(first_difference(got.dphi.data(), expected.dphi.data(), n), n);
  EXPECT_EQ(first_difference(got.dz.data(), expected.dz.data(), n), n);
  EXPECT_EQ(first_difference(got.dR.data(), expected.dR.data(), n), n);
  EXPECT_EQ(first_difference(got.truth.data(), expected.truth.data(), n), n);
}

inline std::vector<std::int64_t> ids_of(ConstView<Hit> hits) {
  return {hits.track_id.data(), hits.track_id.data() + hits.size()};
}

/// The kernels by a launcher on the CPU against GraphBuilder and TrackFinder, on generated events.
/// @param wait until what was launched is done
template <class Launcher, class Wait>
void expect_results_of_the_host(const Launcher& launch, const Wait& wait, std::uint64_t events) {
  events::Random random(41);
  GraphBuilder builder;
  TrackFinder finder;
  for (std::uint64_t index = 0; index < events; ++index) {
    Event event = generate({.seed = 6, .particles = 150}, index);
    const std::size_t n = event.hits.size();
    PortableCollection<Edge>& expected = builder.build(event.hits.view());
    PortableCollection<HitWork> work(n, Device::cpu());
    std::vector<HitKey> keys(n);
    std::vector<HitKey> sorted(n);
    std::vector<Bucket> buckets(n);
    std::vector<std::int32_t> pairs(BucketPairs::kMost * BucketPairs::kMost);
    constexpr std::size_t kWidth = 512;
    std::vector<std::int32_t> slots(n * kWidth);
    TargetSlots targets{slots.data(), slots.size(), kWidth};
    GraphStatus graph;
    find_buckets(launch, event.hits.view(), work.view(), keys.data(), sorted.data(), buckets.data(),
                 LayerTable(), &graph);
    const TargetSearch search = search_by({}, {}, work.view(), buckets.data());
    find_targets(launch, search, {pairs.data(), &graph}, targets, &graph);
    wait();
    ASSERT_EQ(static_cast<std::size_t>(graph.edges), expected.size());
    PortableCollection<Edge> edges(expected.size(), Device::cpu());
    for (const bool is_exact : {false, true}) {
      if (is_exact) {
        targets.width = 0;
        find_targets_again(launch, search, {pairs.data(), &graph}, targets, &graph);
      }
      fill_edges(launch, {event.hits.view(), work.view(), edges.view()}, targets, &graph);
      wait();
      expect_same_edges(edges.const_view(), expected.const_view());
    }

    for (std::size_t e = 0; e < edges.size(); ++e) {
      edges.view().score[e] = static_cast<float>(random.uniform());
    }
    const std::size_t tracks = finder.find(event.hits.view(), edges.const_view());
    const std::vector<std::int64_t> ids = ids_of(event.hits.const_view());
    PortableCollection<GroupWork> groups(n, Device::cpu());
    TrackStatus status;
    std::vector<GroupEdge> group_edges(edges.size());
    find_tracks(launch, groups.view(), event.hits.view(), {edges.const_view()}, {},
                group_edges.data(), event.hits.view().track_id.data(), &status);
    wait();
    EXPECT_EQ(static_cast<std::size_t>(status.tracks), tracks);
    EXPECT_EQ(ids, ids_of(event.hits.const_view()));
  }
}

}  // namespace tensoa::track
