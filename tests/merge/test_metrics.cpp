// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/merge/metrics.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tensoa::merge {
namespace {

struct Row {
  float energy;
  std::int64_t fragment, particle;
};

/// An event of clusters, and the merged particles of its fragments.
Event event_of(const std::vector<Row>& rows, const std::vector<std::int64_t>& merged) {
  PortableCollection<Cluster> clusters(rows.size(), Device::cpu());
  const View<Cluster> v = clusters.view();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    v.x[i] = v.y[i] = 100;
    v.z[i] = 3300;
    v.energy[i] = rows[i].energy;
    v.time[i] = kNoTime;
    v.layer[i] = v.cells[i] = 1;
    v.fragment_id[i] = rows[i].fragment;
    v.particle_id[i] = rows[i].particle;
  }
  Event event = make_event("e", clusters.const_view(), true);
  for (std::size_t f = 0; f < merged.size(); ++f) event.fragments.view().merged_id[f] = merged[f];
  return event;
}

TEST(MergeCounts, ARightAnswerIsComplete) {
  const MergeCounts counts =
      count_merged(event_of({{30, 0, 1}, {15, 1, 1}, {5, 2, 1}, {40, 3, 2}}, {0, 0, 0, 1}));
  EXPECT_EQ(counts.showers, 2U);
  EXPECT_EQ(counts.found, 2U);
  EXPECT_EQ(counts.fragments, 4U);
  EXPECT_EQ(counts.joined, 4U);
  EXPECT_EQ(counts.merged, 2U);
  EXPECT_EQ(counts.efficiency(), 1);
  EXPECT_EQ(counts.purity(), 1);
  EXPECT_NEAR(*counts.response(), 1.005, 0.006);
  EXPECT_NEAR(*counts.resolution(), 0, 0.006);
}

TEST(MergeCounts, AFragmentThatStaysAloneIsNotJoined) {
  const MergeCounts counts = count_merged(event_of({{30, 0, 1}, {10, 1, 1}}, {0, 1}));
  EXPECT_EQ(counts.found, 1U);
  EXPECT_EQ(counts.fragments, 2U);
  EXPECT_EQ(counts.joined, 1U);
  EXPECT_EQ(counts.purity(), 1);
  EXPECT_NEAR(*counts.response(), 0.755, 0.006);
}

TEST(MergeCounts, OfTwoShowersInOneTheLargerIsFound) {
  const MergeCounts counts = count_merged(event_of({{30, 0, 1}, {20, 1, 2}}, {0, 0}));
  EXPECT_EQ(counts.showers, 2U);
  EXPECT_EQ(counts.found, 1U);
  EXPECT_EQ(counts.joined, 1U);
  EXPECT_NEAR(*counts.purity(), 0.6, 1e-9);
  EXPECT_NEAR(*counts.response(), 50.0 / 30, 0.01);
}

TEST(MergeCounts, SoftShowersSoftFragmentsAndNoiseDoNotCount) {
  // 9 GeV; 4 % of a shower; noise; and clusters on no fragment, which are of the shower.
  const MergeCounts counts = count_merged(
      event_of({{9, 0, 1}, {86, 1, 2}, {4, 2, 2}, {50, 3, 0}, {10, -1, 2}}, {0, 1, 2, 3}));
  EXPECT_EQ(counts.showers, 1U);
  EXPECT_EQ(counts.fragments, 1U);
  EXPECT_EQ(counts.joined, 1U);
  EXPECT_NEAR(*counts.response(), 0.865, 0.006);
}

TEST(MergeCounts, AddUp) {
  MergeCounts counts = count_merged(event_of({{30, 0, 1}, {10, 1, 1}}, {0, 0}));
  counts += count_merged(event_of({{30, 0, 1}, {10, 1, 1}}, {0, 1}));
  EXPECT_EQ(counts.fragments, 4U);
  EXPECT_EQ(counts.efficiency(), 0.75);
  EXPECT_EQ(counts.shower_efficiency(), 1);
}

TEST(MergeCounts, WithoutShowersThereIsNoRatio) {
  const MergeCounts counts = count_merged(event_of({}, {}));
  EXPECT_FALSE(counts.efficiency() || counts.purity() || counts.response() || counts.resolution());
}

}  // namespace
}  // namespace tensoa::merge
