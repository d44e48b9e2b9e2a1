// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "alpaka_fixture.hpp"
#include "tensoa/track/generator.hpp"
#include "tensoa/track/graph_builder.hpp"
#include "tensoa/track/graph_kernels.hpp"
#include "tensoa/track/track_kernels.hpp"
#include "tensoa/track/tracks.hpp"

// The kernels of tracking, launched by alpaka on the CPU; alpaka has no sorts and sums.

namespace tensoa::track {
namespace {

using test::Acc;

// [launcher]
/// Rows by alpaka; see graph_kernels.hpp.
struct AlpakaLauncher {
  test::AlpakaQueue& queue;

  template <class Functor>
  void rows(std::size_t n, const Functor& functor) const {
    accel::for_each_row<Acc>(queue, n, functor);
  }

  template <class T, class Less>
  void sort(T* data, std::size_t n, Less less) const {
    alpaka::wait(queue);
    std::sort(data, data + n, less);
  }

  template <class T>
  void running_sum(const T* in, std::size_t n, T* out) const {
    alpaka::wait(queue);
    std::inclusive_scan(in, in + n, out);
  }
};
// [/launcher]

std::vector<std::int64_t> ids_of(ConstView<Hit> hits) {
  return {hits.track_id.data(), hits.track_id.data() + hits.size()};
}

class TrackKernels : public test::AlpakaTest {};

TEST_F(TrackKernels, GiveTheEdgesAndTracksOfTheHost) {
  if constexpr (!test::kOnCpu) {
    GTEST_SKIP() << "for CPUs; on a GPU CUDA launches them (tests/track)";
  } else {
    const AlpakaLauncher launch{queue()};
    GraphBuilder builder;
    TrackFinder finder;
    for (std::uint64_t index = 0; index < 10; ++index) {
      Event event = generate({.seed = 6, .particles = 150}, index);
      const std::size_t n = event.hits.size();
      PortableCollection<Edge>& expected = builder.build(event.hits.view());

      PortableCollection<HitWork> work(n, Device::cpu());
      std::vector<HitKey> keys(n);
      std::vector<Bucket> buckets(n);
      std::vector<std::int64_t> ends(n * LaneSearch::kLanes);
      GraphStatus graph;
      find_buckets(launch, event.hits.view(), work.view(), keys.data(), buckets.data(), &graph);
      const LaneSearch lanes{{GraphCuts{}, work.view(), buckets.data()}, &graph};
      count_edges(launch, lanes, ends.data(), &graph);
      alpaka::wait(queue());
      ASSERT_EQ(static_cast<std::size_t>(graph.edges), expected.size());
      PortableCollection<FoundEdge> found(expected.size(), Device::cpu());
      PortableCollection<Edge> edges(expected.size(), Device::cpu());
      fill_edges(launch, lanes, {event.hits.view(), work.view(), edges.view()}, found.view(),
                 ends.data());
      alpaka::wait(queue());
      const ConstView<Edge> got = edges.const_view();
      const ConstView<Edge> want = expected.const_view();
      for (std::size_t e = 0; e < want.size(); ++e) {
        ASSERT_EQ(got.source[e], want.source[e]) << "edge " << e;
        ASSERT_EQ(got.target[e], want.target[e]) << "edge " << e;
        ASSERT_EQ(got.dR[e], want.dR[e]) << "edge " << e;
        edges.view().score[e] = e % 3 == 0 ? 0.2F : 0.9F;
      }

      const std::size_t tracks = finder.find(event.hits.view(), edges.const_view());
      const std::vector<std::int64_t> ids = ids_of(event.hits.const_view());
      PortableCollection<GroupWork> groups(n, Device::cpu());
      TrackStatus status;
      find_tracks(launch, groups.view(), edges.const_view(), {}, event.hits.view().track_id.data(),
                  &status);
      alpaka::wait(queue());
      EXPECT_EQ(static_cast<std::size_t>(status.tracks), tracks);
      EXPECT_EQ(ids, ids_of(event.hits.const_view()));
    }
  }
}

}  // namespace
}  // namespace tensoa::track
