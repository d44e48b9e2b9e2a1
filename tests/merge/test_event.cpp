// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/merge/event.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "columns.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::merge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

PortableCollection<Cluster> clusters_of(const std::vector<std::int64_t>& fragments) {
  PortableCollection<Cluster> clusters(fragments.size(), Device::cpu());
  const View<Cluster> v = clusters.view();
  for (std::size_t i = 0; i < fragments.size(); ++i) {
    v.x[i] = v.y[i] = 100;
    v.z[i] = 3300;
    v.energy[i] = 1 + static_cast<float>(i);
    v.time[i] = kNoTime;
    v.layer[i] = v.cells[i] = 1;
    v.fragment_id[i] = fragments[i];
    v.particle_id[i] = static_cast<std::int64_t>(i % 2) + 1;
  }
  return clusters;
}

TEST(MakeEvent, SortsClustersByFragmentWithThoseOfNoneLast) {
  const auto clusters = clusters_of({7, -1, 3, 7, 3, 3});
  const Event event = make_event("e", clusters.const_view(), true);
  const auto f = event.fragments.const_view();
  EXPECT_EQ(event.name, "e");
  EXPECT_THAT(list(event.clusters.const_view().fragment_id, 6), ElementsAre(3, 3, 3, 7, 7, -1));
  EXPECT_THAT(list(f.fragment_id, f.size()), ElementsAre(3, 7));
  EXPECT_THAT(list(f.first, f.size()), ElementsAre(0, 3));
  EXPECT_THAT(list(f.last, f.size()), ElementsAre(3, 5));
  EXPECT_THAT(list(f.merged_id, f.size()), ElementsAre(-1, -1));
  // Energies of particles 1 and 2: 3 + 5 and 6; 1 and 4.
  EXPECT_THAT(list(f.particle_id, f.size()), ElementsAre(1, 2));
  EXPECT_EQ(event.clusters.const_view().energy[0], 3);
  EXPECT_EQ(event.clusters.const_view().energy[2], 6);
}

TEST(MakeEvent, HasNoParticlesWithoutTruth) {
  const Event event = make_event("e", clusters_of({0, 1}).const_view(), false);
  EXPECT_FALSE(event.has_truth);
  EXPECT_THAT(list(event.fragments.const_view().particle_id, 2), ElementsAre(0, 0));
}

TEST(MakeEvent, MayHaveNoFragments) {
  EXPECT_EQ(make_event("e", clusters_of({}).const_view(), true).fragments.size(), 0U);
  EXPECT_EQ(make_event("e", clusters_of({-1, -1}).const_view(), true).fragments.size(), 0U);
}

TEST(MakeEvent, NamesTheClusterThatIsNone) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  struct Case {
    std::function<void(const View<Cluster>&)> spoil;
    const char* message;
  };
  const Case cases[] = {
      {[](auto& v) { v.x[1] = kNan; },
       "event e: cluster 1: got x = nan, expected -100000 to 100000 mm"},
      {[](auto& v) { v.y[1] = kInfinity; }, "cluster 1: got y = inf"},
      {[](auto& v) { v.z[1] = 330; }, "cluster 1: got |z| = 330, expected 1000 to 100000 mm"},
      {[](auto& v) { v.energy[1] = -1; }, "cluster 1: got energy = -1, expected 0 to 1e+06 GeV"},
      {[](auto& v) { v.energy[1] = kNan; }, "cluster 1: got energy = nan"},
      {[](auto& v) { v.time[1] = kNan; }, "cluster 1: got time = nan"},
      {[](auto& v) { v.layer[1] = 0; }, "cluster 1: got layer = 0, expected 1 to"},
      {[](auto& v) { v.cells[1] = 0; }, "cluster 1: got cells = 0, expected 1 to"},
      {[](auto& v) { v.fragment_id[1] = -2; }, "cluster 1: got fragment_id = -2, expected -1 to"},
  };
  for (const Case& one : cases) {
    auto clusters = clusters_of({0, 0, 0});
    one.spoil(clusters.view());
    EXPECT_THAT([&] { make_event("e", clusters.const_view(), true); },
                ThrowsMessage<InputError>(HasSubstr(one.message)));
  }
}

}  // namespace
}  // namespace tensoa::merge
