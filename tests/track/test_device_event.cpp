// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/device_event.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kernel_checks.hpp"
#include "runtime_calls.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory_budget.hpp"
#include "tensoa/events/impl/random.hpp"
#include "tensoa/events/impl/serial_launcher.hpp"
#include "tensoa/track/event_source.hpp"
#include "tensoa/track/generator.hpp"
#include "tensoa/track/graph_builder.hpp"
#include "tensoa/track/tracks.hpp"
#include "tracks_one_by_one.hpp"

namespace tensoa::track {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

void expect_same_nodes(ConstView<Hit> got, ConstView<Hit> expected) {
  const std::size_t n = got.size();
  ASSERT_EQ(n, expected.size());
  EXPECT_EQ(first_difference(got.r_scaled.data(), expected.r_scaled.data(), n), n);
  EXPECT_EQ(first_difference(got.phi_scaled.data(), expected.phi_scaled.data(), n), n);
  EXPECT_EQ(first_difference(got.z_scaled.data(), expected.z_scaled.data(), n), n);
}

class DeviceEventOn : public testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    const Device device = GetParam();
    if (!device.is_cpu() && device_count(device.kind) == 0) GTEST_SKIP() << "no CUDA device";
    if (!DeviceEvent::is_supported(device)) GTEST_SKIP() << "no GPU kernels in this build";
    queue_.emplace(device);
  }

  template <template <template <class> class> class Layout>
  PortableCollection<Layout> to_host(const PortableCollection<Layout>& there) {
    PortableCollection<Layout> here(there.size(), Device::cpu());
    copy(*queue_, there, here);
    queue_->wait();
    return here;
  }

  void expect_same_as_builder(DeviceEvent& event, GraphBuilder& builder,
                              PortableCollection<Hit>& hits) {
    const PortableCollection<Edge>& expected = builder.build(hits.view());
    ASSERT_EQ(event.build_graph(hits.const_view()), expected.size());
    expect_same_edges(to_host(event.edges()).const_view(), expected.const_view());
    expect_same_nodes(to_host(event.hits()).const_view(), hits.const_view());
  }

  void set_scores(DeviceEvent& event, const std::vector<float>& scores) {
    copy_bytes(*queue_, event.edges().view().score.data(), queue_->device(), scores.data(),
               Device::cpu(), scores.size() * sizeof(float));
    queue_->wait();
  }

  std::optional<Queue> queue_;
};

TEST_P(DeviceEventOn, AgreesWithTheHostOnAThousandEvents) {
  events::Random random(31);
  DeviceEvent event(*queue_);
  GraphBuilder builder;
  TrackFinder finder;
  for (std::uint64_t index = 0; index < 1000; ++index) {
    Event input =
        generate({.seed = 5, .particles = random.below(index % 50 == 0 ? 900 : 60)}, index);
    if (index % 3 == 0) {
      const auto hits = input.hits.view();
      for (std::size_t i = 0; i < hits.size(); ++i) hits.layer[i] = 0;
    }
    expect_same_as_builder(event, builder, input.hits);
    std::vector<float> scores(builder.edges().size());
    for (float& score : scores) score = static_cast<float>(random.uniform());
    auto edges = to_host(event.edges());
    std::copy(scores.begin(), scores.end(), edges.view().score.data());
    set_scores(event, scores);

    const bool counts_scores = index % 2 == 0;
    const FoundTracks found = event.find_tracks(input.hits.view(), counts_scores);
    EXPECT_EQ(found.score_counts != nullptr, counts_scores && input.hits.size() > 0);
    if (found.score_counts != nullptr) {
      EdgeAuc on_device;
      on_device.add(*found.score_counts);
      EdgeAuc on_host;
      on_host.add(edges.const_view());
      EXPECT_EQ(on_device.value(), on_host.value());
    }
    const std::vector<std::int64_t> ids = ids_of(input.hits.const_view());
    EXPECT_EQ(found.tracks, finder.find(input.hits.view(), edges.const_view()));
    EXPECT_EQ(ids, ids_of(input.hits.const_view()));
    const EdgeCounts counts = compare_edges(edges.const_view(), 0.5F);
    EXPECT_EQ(found.edges.edges, counts.edges);
    EXPECT_EQ(found.edges.true_edges, counts.true_edges);
    EXPECT_EQ(found.edges.selected, counts.selected);
    EXPECT_EQ(found.edges.true_selected, counts.true_selected);
    EXPECT_EQ(found.bad_scores, 0U);
    ASSERT_FALSE(HasFailure()) << "event " << index;
  }
}

TEST_P(DeviceEventOn, AgreesWithTheHostForOtherCuts) {
  for (const GraphCuts& cuts :
       {GraphCuts{.max_dphi = 4.0, .max_dphi_per_dr = 0.1},
        GraphCuts{.min_dr = 0, .max_distance = 3000, .max_z0 = 1000},
        GraphCuts{.min_dr = 30, .max_dphi = 0.01}, GraphCuts{.max_z0 = 0}}) {
    DeviceEvent event(*queue_, cuts);
    GraphBuilder builder(cuts);
    Event input = generate({.seed = 4, .particles = 200}, 0);
    expect_same_as_builder(event, builder, input.hits);
  }
}

TEST_P(DeviceEventOn, AgreesWithTheHostByLearnedRules) {
  const GraphRules rules = read_graph_rules(TENSOA_GRAPH_RULES);
  DeviceEvent event(*queue_, rules);
  GraphBuilder builder(rules);
  for (std::uint64_t index = 0; index < 20; ++index) {
    Event input = generate({.seed = 8, .particles = 400}, index);
    if (index % 4 == 0) std::fill_n(input.hits.view().layer.data(), input.hits.size(), 0);
    expect_same_as_builder(event, builder, input.hits);
  }
}

TEST_P(DeviceEventOn, RefusesALayerThatTheMapDoesNotName) {
  const GraphRules rules = read_graph_rules(TENSOA_GRAPH_RULES);
  Event input = generate({.seed = 8, .particles = 40}, 0);
  input.hits.view().layer[17] = 42;
  for (const std::size_t edge_capacity : {0U, 100'000U}) {
    DeviceEvent event(*queue_, rules, {}, edge_capacity);
    EXPECT_THAT(
        [&] {
          event.build_graph(input.hits.const_view());
          event.find_tracks(input.hits.view());
        },
        testing::ThrowsMessage<InputError>(testing::HasSubstr("hit row 17: got layer 42")));
  }
}

TEST_P(DeviceEventOn, TakesOneEdgeAfterTheOtherWhereLayersContradict) {
  events::Random random(77);
  for (std::uint64_t index = 0; index < 60; ++index) {
    Event input = generate({.seed = 15, .particles = 120}, index);
    DeviceEvent event(*queue_);
    GraphBuilder builder;
    expect_same_as_builder(event, builder, input.hits);
    auto edges = to_host(event.edges());
    std::vector<float> scores(edges.size());
    // Few different scores, so that the order of equal ones matters, too.
    for (float& score : scores) score = static_cast<float>(random.below(12)) / 12;
    std::copy(scores.begin(), scores.end(), edges.view().score.data());
    set_scores(event, scores);
    event.find_tracks(input.hits.view());
    const std::vector<std::int64_t> ids = ids_of(input.hits.const_view());
    EXPECT_EQ(ids, tracks_one_by_one(input.hits.const_view(), edges.const_view(), {}));
  }
}

TEST_P(DeviceEventOn, AgreesWithTheHostOnHitsAnywhere) {
  events::Random random(12);
  for (const double largest : {1.0, 1e3, 1e6, 1e37}) {
    PortableCollection<Hit> hits(700, Device::cpu());
    const auto v = hits.view();
    for (std::size_t i = 0; i < v.size(); ++i) {
      const auto any = [&] { return static_cast<float>(random.uniform(-largest, largest)); };
      v.x[i] = i % 7 == 0 ? 0.0F : any();
      v.y[i] = i % 7 == 0 ? -0.0F : any();
      v.z[i] = any();
      v.layer[i] = static_cast<std::int32_t>(random.below(5)) - 2;
      v.particle_id[i] = random.below(3);
    }
    const GraphCuts cuts{.max_dphi = 4, .max_dphi_per_dr = 1, .max_distance = 1e38, .max_z0 = 1e38};
    DeviceEvent event(*queue_, cuts);
    GraphBuilder builder(cuts);
    expect_same_as_builder(event, builder, hits);
  }
}

TEST_P(DeviceEventOn, AgreesWithTheHostOnMoreBucketsThanItsPairsHold) {
  events::Random random(13);
  PortableCollection<Hit> hits(9'000, Device::cpu());
  const auto v = hits.view();
  for (std::size_t i = 0; i < v.size(); ++i) {
    v.x[i] = static_cast<float>(random.uniform(-3000, 3000));
    v.y[i] = static_cast<float>(random.uniform(-3000, 3000));
    v.z[i] = static_cast<float>(random.uniform(-15'000, 15'000));
    v.layer[i] = static_cast<std::int32_t>(random.below(3));
    v.particle_id[i] = random.below(3);
  }
  const GraphCuts cuts{.max_distance = 2000, .max_z0 = 5000};
  DeviceEvent event(*queue_, cuts);
  GraphBuilder builder(cuts);
  expect_same_as_builder(event, builder, hits);
  EXPECT_GT(event.edges().size(), 1000U);
}

/// Hits of two layers, with an edge from each of the few inner ones to all of the others.
constexpr std::size_t kInner = 2;
PortableCollection<Hit> fan(std::size_t outer) {
  PortableCollection<Hit> hits(kInner + outer, Device::cpu());
  const auto v = hits.view();
  for (std::size_t i = 0; i < v.size(); ++i) {
    const bool is_inner = i < kInner;
    v.x[i] = is_inner ? 30.F : 60.F;
    v.y[i] = v.z[i] = 0.0001F * static_cast<float>(i);
    v.layer[i] = is_inner ? 1 : 2;
    v.particle_id[i] = 0;
  }
  return hits;
}

// Slots of one width for all hits hold the first; for the second they would be too many.
constexpr std::size_t kFans[] = {400, 12'000};

TEST_P(DeviceEventOn, AgreesWithTheHostWhereAHitHasManyTargets) {
  for (const std::size_t outer : kFans) {
    PortableCollection<Hit> hits = fan(outer);
    DeviceEvent event(*queue_);
    GraphBuilder builder;
    for (int turn = 0; turn < 2; ++turn) expect_same_as_builder(event, builder, hits);
    EXPECT_EQ(event.edges().size(), kInner * outer);
    Event other = generate({.particles = 50}, 0);
    expect_same_as_builder(event, builder, other.hits);
  }
}

TEST_P(DeviceEventOn, DoesAnEventWithACapacityAgainWhereAHitHasManyTargets) {
  for (const std::size_t outer : kFans) {
    PortableCollection<Hit> hits = fan(outer);
    DeviceEvent event(*queue_, {}, {}, 30'000);
    for (const bool is_complete : {false, true}) {
      ASSERT_EQ(event.build_graph(hits.const_view()), 30'000U);
      set_scores(event, std::vector<float>(30'000, 0.F));
      const FoundTracks found = event.find_tracks(hits.view());
      EXPECT_EQ(found.is_complete, is_complete) << outer;
      EXPECT_EQ(found.edges.edges, kInner * outer);
    }
    EXPECT_EQ(event.edges().size(), kInner * outer);
  }
}

TEST_P(DeviceEventOn, GivesTheKnownEdgesOfTheTrackMlEvent) {
  const std::filesystem::path path = TENSOA_SHARED_DATA "/trackml/event000000001-hits.csv.gz";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no shared data";
  Event input = read_event(path);
  DeviceEvent event(*queue_);
  GraphBuilder builder;
  expect_same_as_builder(event, builder, input.hits);
  EXPECT_EQ(event.edges().size(), 60'023U);
  set_scores(event, std::vector<float>(60'023, 0.25F));
  EXPECT_EQ(event.find_tracks(input.hits.view()).edges.true_edges, 10'302U);
}

TEST_P(DeviceEventOn, TakesEventsWithoutHitsOrEdges) {
  DeviceEvent event(*queue_);
  PortableCollection<Hit> none(0, Device::cpu());
  EXPECT_EQ(event.build_graph(none.const_view()), 0U);
  EXPECT_EQ(event.find_tracks(none.view()).tracks, 0U);
  PortableCollection<Hit> one(1, Device::cpu());
  const auto hit = row(one.view(), 0);
  hit.x = hit.y = hit.z = 30;
  hit.layer = 1;
  hit.particle_id = 0;
  EXPECT_EQ(event.build_graph(one.const_view()), 0U);
  EXPECT_EQ(event.find_tracks(one.view()).tracks, 0U);
  EXPECT_EQ(one.view().track_id[0], -1);
  EXPECT_EQ(event.build_graph(none.const_view()), 0U);
}

TEST_P(DeviceEventOn, NamesTheFirstHitThatIsNotFiniteAndGoesOn) {
  DeviceEvent event(*queue_);
  Event input = generate({.particles = 30}, 0);
  Event good = generate({.particles = 30}, 0);
  input.hits.view().y[11] = std::numeric_limits<float>::quiet_NaN();
  input.hits.view().z[7] = -std::numeric_limits<float>::infinity();
  try {
    event.build_graph(input.hits.const_view());
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("hit row 7: got a NaN or infinite coordinate"));
  }
  GraphBuilder builder;
  expect_same_as_builder(event, builder, good.hits);
}

TEST_P(DeviceEventOn, CountsBadScoresAndLeavesTheTracksAlone) {
  DeviceEvent event(*queue_);
  Event input = generate({.particles = 30}, 0);
  std::vector<float> scores(event.build_graph(input.hits.const_view()), 0.5F);
  scores.at(1) = std::numeric_limits<float>::quiet_NaN();
  scores.at(2) = 1.5F;
  scores.at(3) = -0.1F;
  set_scores(event, scores);
  input.hits.view().track_id[0] = 77;
  EXPECT_EQ(event.find_tracks(input.hits.view()).bad_scores, 3U);
  EXPECT_EQ(input.hits.view().track_id[0], 77);
}

TEST_P(DeviceEventOn, NamesTheFirstEdgeToAHitThatIsNotThere) {
  DeviceEvent event(*queue_);
  Event input = generate({.particles = 30}, 0);
  const std::size_t n_edges = event.build_graph(input.hits.const_view());
  set_scores(event, std::vector<float>(n_edges, 1.0F));
  const auto n_hits = static_cast<std::int64_t>(input.hits.size());
  for (const std::size_t edge : {std::size_t{9}, n_edges - 1}) {
    copy_bytes(*queue_, event.edges().view().target.data() + edge, queue_->device(), &n_hits,
               Device::cpu(), sizeof n_hits);
  }
  try {
    event.find_tracks(input.hits.view());
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("edge 9: got rows "));
    EXPECT_THAT(error.what(),
                HasSubstr(" and " + std::to_string(n_hits) + ", expected rows of the " +
                          std::to_string(n_hits) + " hits"));
  }
}

TEST_P(DeviceEventOn, FindsTracksAsOftenAsThereAreScores) {
  DeviceEvent event(*queue_);
  Event input = generate({.particles = 30}, 0);
  const std::size_t n_edges = event.build_graph(input.hits.const_view());
  set_scores(event, std::vector<float>(n_edges, 2.0F));
  EXPECT_EQ(event.find_tracks(input.hits.view()).bad_scores, n_edges);
  set_scores(event, std::vector<float>(n_edges, 1.0F));
  const FoundTracks first = event.find_tracks(input.hits.view());
  EXPECT_EQ(first.bad_scores, 0U);
  EXPECT_EQ(first.edges.selected, n_edges);
  const FoundTracks again = event.find_tracks(input.hits.view());
  EXPECT_EQ(again.edges.true_edges, first.edges.true_edges);
  EXPECT_EQ(again.tracks, first.tracks);
}

TEST_P(DeviceEventOn, AnEventThatWasRefusedHasNoEdges) {
  DeviceEvent event(*queue_);
  Event input = generate({.particles = 30}, 0);
  const std::size_t n_edges = event.build_graph(input.hits.const_view());
  set_scores(event, std::vector<float>(n_edges, 1.0F));
  input.hits.view().y[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(event.build_graph(input.hits.const_view()), InputError);
  EXPECT_EQ(event.edges().size(), 0U);
  EXPECT_EQ(event.find_tracks(input.hits.view()).tracks, 0U);
}

TEST_P(DeviceEventOn, RefusesHitsOfAnotherEvent) {
  DeviceEvent event(*queue_);
  Event input = generate({.particles = 30}, 0);
  event.build_graph(input.hits.const_view());
  PortableCollection<Hit> other(3, Device::cpu());
  EXPECT_THROW(event.find_tracks(other.view()), ConfigError);
}

TEST_P(DeviceEventOn, ThatWasGivenUpLeavesNoTrace) {
  DeviceEvent event(*queue_);
  GraphBuilder builder;
  for (std::uint64_t index = 0; index < 20; ++index) {
    Event given_up = generate({.particles = 100}, index);
    event.build_graph(given_up.hits.const_view());
    Event input = generate({.particles = 50}, 100 + index);
    expect_same_as_builder(event, builder, input.hits);
  }
}

TEST_P(DeviceEventOn, ThatWasGivenUpHalfwayLeavesNoTrace) {
  DeviceEvent event(*queue_);
  GraphBuilder builder;
  for (std::uint64_t index = 0; index < 20; ++index) {
    const Event given_up = generate({.particles = 100}, index);
    event.start_graph(given_up.hits.const_view());
    if (index % 2 == 0) {
      event.finish_graph();
      event.start_tracks();
    }
    Event input = generate({.particles = 50}, 100 + index);
    expect_same_as_builder(event, builder, input.hits);
  }
}

TEST_P(DeviceEventOn, LeavesTheWaitingToTheCaller) {
  DeviceEvent event(*queue_);
  Event blocking = generate({.particles = 300}, 1);
  const std::size_t n_edges = event.build_graph(blocking.hits.const_view());
  const std::vector<float> scores(n_edges, 1.0F);
  set_scores(event, scores);
  const std::size_t tracks = event.find_tracks(blocking.hits.view()).tracks;
  EXPECT_GT(tracks, 0U);

  Event input = generate({.particles = 300}, 1);
  const auto called = [&] {
    std::promise<void> promise;
    queue_->when_done([&] { promise.set_value(); });
    promise.get_future().wait();
    queue_->wait();
  };
  event.start_graph(input.hits.const_view());
  called();
  EXPECT_EQ(event.finish_graph(), n_edges);
  set_scores(event, scores);
  event.start_tracks();
  called();
  EXPECT_EQ(event.finish_tracks(input.hits.view()).tracks, tracks);
  EXPECT_EQ(ids_of(input.hits.const_view()), ids_of(blocking.hits.const_view()));
}

TEST_P(DeviceEventOn, SaysWhichHalfIsMissing) {
  DeviceEvent event(*queue_);
  Event input = generate({.particles = 30}, 0);
  EXPECT_THAT([&] { event.finish_graph(); },
              ThrowsMessage<ConfigError>(
                  HasSubstr("finish_graph: got a call without start_graph before it")));
  event.start_graph(input.hits.const_view());
  EXPECT_THAT([&] { event.start_tracks(); },
              ThrowsMessage<ConfigError>(HasSubstr("got a call before finish_graph")));
  EXPECT_THAT([&] { event.finish_tracks(input.hits.view()); },
              ThrowsMessage<ConfigError>(HasSubstr("without start_tracks")));
  const std::size_t n_edges = event.finish_graph();
  EXPECT_GT(n_edges, 0U);
  EXPECT_THROW(event.finish_graph(), ConfigError);
  set_scores(event, std::vector<float>(n_edges, 1.0F));
  EXPECT_GT(event.find_tracks(input.hits.view()).tracks, 0U);
  EXPECT_THROW(event.finish_tracks(input.hits.view()), ConfigError);
}

TEST_P(DeviceEventOn, WithAnEdgeCapacityGivesTheSameInTheFirstRowsAndNothingInTheOthers) {
  constexpr std::size_t kRows = 40'000;
  DeviceEvent event(*queue_, {}, {}, kRows);
  DeviceEvent exact(*queue_);
  events::Random random(8);
  for (const std::int64_t particles : {300, 20, 150}) {
    Event input = generate({.seed = 2, .particles = particles}, 0);
    Event again = generate({.seed = 2, .particles = particles}, 0);
    const std::size_t n = input.hits.size();
    const std::size_t n_edges = exact.build_graph(again.hits.const_view());
    ASSERT_LT(n_edges, kRows);
    ASSERT_EQ(event.build_graph(input.hits.const_view()), kRows);
    const auto hits = to_host(event.hits());
    ASSERT_GT(hits.size(), n);
    ASSERT_LE(hits.size(), n + std::max<std::size_t>(64, n / 8));
    for (std::size_t row = n; row < hits.size(); ++row) {
      ASSERT_EQ(hits.const_view().r_scaled[row], 0);
      ASSERT_EQ(hits.const_view().phi_scaled[row], 0);
      ASSERT_EQ(hits.const_view().z_scaled[row], 0);
    }
    const auto last = static_cast<std::int64_t>(hits.size() - 1);
    auto edges = to_host(event.edges());
    const auto rows = edges.const_view();
    for (std::size_t e = n_edges; e < kRows; ++e) {
      ASSERT_EQ(rows.source[e], last) << e;
      ASSERT_EQ(rows.target[e], last) << e;
      ASSERT_EQ(std::abs(rows.dr[e]) + std::abs(rows.dphi[e]) + std::abs(rows.dz[e]), 0.F) << e;
      ASSERT_EQ(rows.dR[e] + static_cast<float>(rows.truth[e]), 0.F) << e;
    }
    edges.resize(n_edges);
    expect_same_edges(edges.const_view(), to_host(exact.edges()).const_view());

    // The network's results for the other rows do not matter.
    std::vector<float> scores(kRows, std::numeric_limits<float>::quiet_NaN());
    for (std::size_t e = 0; e < n_edges; ++e) scores[e] = static_cast<float>(random.uniform());
    std::fill(scores.begin() + static_cast<std::ptrdiff_t>((n_edges + kRows) / 2), scores.end(),
              1.F);
    set_scores(event, scores);
    set_scores(exact, {scores.begin(), scores.begin() + static_cast<std::ptrdiff_t>(n_edges)});
    const FoundTracks found = event.find_tracks(input.hits.view());
    const FoundTracks expected = exact.find_tracks(again.hits.view());
    EXPECT_TRUE(found.is_complete);
    EXPECT_EQ(found.tracks, expected.tracks);
    EXPECT_EQ(found.bad_scores, 0U);
    EXPECT_EQ(found.edges.edges, n_edges);
    EXPECT_EQ(found.edges.true_edges, expected.edges.true_edges);
    EXPECT_EQ(found.edges.selected, expected.edges.selected);
    EXPECT_EQ(found.edges.true_selected, expected.edges.true_selected);
    EXPECT_EQ(ids_of(input.hits.const_view()), ids_of(again.hits.const_view()));
    EXPECT_EQ(event.edges().size(), n_edges);
  }
}

TEST_P(DeviceEventOn, WithMoreEdgesThanRowsSaysSoAndHasRoomTheNextTime) {
  DeviceEvent event(*queue_, {}, {}, 10);
  DeviceEvent exact(*queue_);
  Event input = generate({.particles = 200}, 0);
  const std::size_t n_edges = exact.build_graph(input.hits.const_view());
  const std::vector<float> ones(n_edges, 1.F);
  set_scores(exact, ones);
  const std::size_t tracks = exact.find_tracks(input.hits.view()).tracks;
  input.hits.view().track_id[0] = 77;

  EXPECT_EQ(event.build_graph(input.hits.const_view()), 10U);
  set_scores(event, std::vector<float>(10, 1.F));
  const FoundTracks none = event.find_tracks(input.hits.view());
  EXPECT_FALSE(none.is_complete);
  EXPECT_EQ(none.edges.edges, n_edges);
  EXPECT_EQ(input.hits.view().track_id[0], 77);

  EXPECT_GE(event.build_graph(input.hits.const_view()), n_edges);
  set_scores(event, ones);
  const FoundTracks all = event.find_tracks(input.hits.view());
  EXPECT_TRUE(all.is_complete);
  EXPECT_EQ(all.tracks, tracks);
  EXPECT_EQ(event.edges().size(), n_edges);
}

TEST_P(DeviceEventOn, WithAnEdgeCapacityCountsNoTracksOfRowsThatAreNoHits) {
  const TrackOptions every_hit{.min_hits = 1};
  DeviceEvent event(*queue_, {}, every_hit, 10'000);
  DeviceEvent exact(*queue_, {}, every_hit);
  Event input = generate({.seed = 6, .particles = 60}, 0);
  Event again = generate({.seed = 6, .particles = 60}, 0);
  const std::vector<float> zeros(10'000, 0.F);
  event.build_graph(input.hits.const_view());
  set_scores(event, zeros);
  set_scores(exact, std::vector<float>(exact.build_graph(again.hits.const_view()), 0.F));
  EXPECT_EQ(event.find_tracks(input.hits.view()).tracks, input.hits.size());
  EXPECT_EQ(exact.find_tracks(again.hits.view()).tracks, again.hits.size());
  EXPECT_EQ(ids_of(input.hits.const_view()), ids_of(again.hits.const_view()));
}

/// Scores of edge 0, 1, 2 …, whatever the event, as a network that only enqueues.
class GivenScores {
 public:
  GivenScores(const Queue& queue, std::size_t n)
      : queue_(queue), scores_(n), there_(queue.device(), n * sizeof(float)) {
    events::Random random(5);
    for (float& score : scores_) score = static_cast<float>(random.uniform());
    copy_bytes(queue, there_.data(), queue.device(), scores_.data(), Device::cpu(),
               n * sizeof(float));
    queue.wait();
  }

  const std::vector<float>& scores() const { return scores_; }

  std::function<CopyReport()> of(DeviceEvent& event) {
    return [this, &event] {
      ++calls;
      const View<Edge> edges = event.edges().view();
      copy_bytes(queue_, edges.score.data(), queue_.device(), there_.data(), queue_.device(),
                 edges.size() * sizeof(float));
      return CopyReport();
    };
  }

  int calls = 0;

 private:
  Queue queue_;
  std::vector<float> scores_;
  Buffer there_;
};

class WholeEventOn : public DeviceEventOn {
 protected:
  static constexpr std::size_t kRows = 60'000;

  void SetUp() override {
    DeviceEventOn::SetUp();
    if (!IsSkipped()) network_.emplace(*queue_, 2 * kRows);
  }

  /// Runs an event as a whole, again where there is no room, and expects what the host finds.
  /// @return runs that it took
  int expect_right(DeviceEvent& event, const GeneratorOptions& options, std::uint64_t index = 0,
                   bool counts_scores = false) {
    Event input = generate(options, index);
    Event expected = generate(options, index);
    GraphBuilder builder;
    PortableCollection<Edge>& edges = builder.build(expected.hits.view());
    std::copy_n(network_->scores().data(), edges.size(), edges.view().score.data());
    const std::size_t tracks = TrackFinder().find(expected.hits.view(), edges.const_view());
    int runs = 0;
    FoundTracks found;
    do {
      event.run_event(input.hits.const_view(), network_->of(event), model_, counts_scores);
      found = event.finish_tracks(input.hits.view());
      ++runs;
    } while (!found.is_complete && runs < 3);
    EXPECT_TRUE(found.is_complete);
    EXPECT_EQ(found.edges.edges, edges.size());
    EXPECT_EQ(found.tracks, tracks);
    EXPECT_EQ(found.score_counts != nullptr, counts_scores);
    EXPECT_EQ(ids_of(input.hits.const_view()), ids_of(expected.hits.const_view()));
    return runs;
  }

  std::size_t launched(std::size_t n) const { return queue_->device().is_cpu() ? 0 : n; }

  std::optional<GivenScores> network_;
  std::shared_ptr<const void> model_ = std::make_shared<int>(0);
};

TEST_P(WholeEventOn, GivesWhatItsPartsGiveAndIsOneLaunchFromTheSecondOfItsRows) {
  DeviceEvent event(*queue_, {}, {}, kRows);
  expect_right(event, {.seed = 3, .particles = 200});
  expect_right(event, {.seed = 3, .particles = 200});
  EXPECT_EQ(event.launched_as_graph(), launched(1));
  for (std::uint64_t index = 0; index < 10; ++index) {
    for (const std::int64_t particles : {200, 199, 201, 60, 62}) {
      expect_right(event, {.seed = 3, .particles = particles}, index);
    }
  }
  EXPECT_GE(event.launched_as_graph(), launched(30));
  if (queue_->device().is_cpu()) return;

  Event input = generate({.seed = 3, .particles = 200}, 0);
  const int calls = network_->calls;
  const test::RuntimeCalls before = test::runtime_calls();
  event.run_event(input.hits.const_view(), network_->of(event), model_);
  event.finish_tracks(input.hits.view());
  const test::RuntimeCalls after = test::runtime_calls();
  EXPECT_EQ(after.graphs - before.graphs, 1U);
  EXPECT_EQ(after.kernels - before.kernels, 0U);
  EXPECT_EQ(after.copies_up + after.copies_down, before.copies_up + before.copies_down);
  EXPECT_EQ(after.waits - before.waits, 1U);
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(network_->calls, calls);
}

TEST_P(WholeEventOn, RecordsAgainWhereMemoryOrTheModelChanged) {
  DeviceEvent event(*queue_, {}, {}, 8'000);
  const GeneratorOptions small{.seed = 3, .particles = 60};
  const auto launches_of = [&](bool counts_scores = false) {
    const std::size_t before = event.launched_as_graph();
    EXPECT_EQ(expect_right(event, small, 0, counts_scores), 1);
    return event.launched_as_graph() - before;
  };
  EXPECT_EQ(launches_of(), 0U);
  EXPECT_EQ(launches_of(), launched(1));
  EXPECT_EQ(launches_of(true), 0U) << "of scores that are counted";
  EXPECT_EQ(launches_of(true), launched(1));
  EXPECT_EQ(launches_of(), launched(1));

  EXPECT_EQ(expect_right(event, {.seed = 3, .particles = 400}), 2) << "too many edges";
  EXPECT_EQ(launches_of(), 0U) << "after memory that has grown";
  EXPECT_EQ(launches_of(), launched(1));

  Event larger = generate({.seed = 3, .particles = 600}, 0);
  event.build_graph(larger.hits.const_view());
  event.find_tracks(larger.hits.view());
  EXPECT_EQ(launches_of(), 0U) << "with the rows that the larger one needed";
  EXPECT_EQ(launches_of(), 0U) << "after it";
  EXPECT_EQ(launches_of(), launched(1));

  model_ = std::make_shared<int>(1);
  EXPECT_EQ(launches_of(), 0U) << "with another model";
  EXPECT_EQ(launches_of(), launched(1));
  model_ = nullptr;
  EXPECT_EQ(launches_of(), 0U) << "of a model that cannot be recorded";
  EXPECT_EQ(launches_of(), 0U);
}

TEST_P(WholeEventOn, RefusesBadHitsAndNoCapacity) {
  DeviceEvent event(*queue_, {}, {}, kRows);
  for (int run = 0; run < 3; ++run) {
    expect_right(event, {.seed = 3, .particles = 100});
    Event bad = generate({.seed = 3, .particles = 100}, 0);
    bad.hits.view().y[5] = std::numeric_limits<float>::quiet_NaN();
    event.run_event(bad.hits.const_view(), network_->of(event), model_);
    EXPECT_THAT([&] { event.finish_tracks(bad.hits.view()); },
                ThrowsMessage<InputError>(HasSubstr("hit row 5")));
    PortableCollection<Hit> none(0, Device::cpu());
    event.run_event(none.const_view(), network_->of(event), model_);
    EXPECT_EQ(event.finish_tracks(none.view()).tracks, 0U);
  }
  DeviceEvent counted(*queue_);
  Event input = generate({.seed = 3, .particles = 100}, 0);
  EXPECT_THAT([&] { counted.run_event(input.hits.const_view(), network_->of(counted), model_); },
              ThrowsMessage<ConfigError>(HasSubstr("expected one with rows for its edges")));
}

/// Memory for nothing more, until the end of the scope.
class NoMoreMemory {
 public:
  explicit NoMoreMemory(Device device) : device_(device) {
    memory_budget(device, memory_figures(device).all.now);
  }
  ~NoMoreMemory() { memory_budget(device_, kNoBudget); }
  NoMoreMemory(const NoMoreMemory&) = delete;
  NoMoreMemory& operator=(const NoMoreMemory&) = delete;

 private:
  Device device_;
};

TEST_P(DeviceEventOn, WithoutMemoryForAnEventHasNoneAndTakesTheNext) {
  for (const std::size_t edge_capacity : {0U, 10'000U}) {
    DeviceEvent event(*queue_, {}, {}, edge_capacity);
    Event small = generate({.particles = 30}, 0);
    Event large = generate({.particles = 400}, 1);
    const auto tracks_of_small = [&] {
      set_scores(event, std::vector<float>(event.build_graph(small.hits.const_view()), 1.F));
      return event.find_tracks(small.hits.view()).tracks;
    };
    const std::size_t tracks = tracks_of_small();
    {
      const NoMoreMemory full(GetParam());
      EXPECT_THROW(event.build_graph(large.hits.const_view()), DeviceFullError);
      EXPECT_EQ(event.edges().size(), 0U);
      EXPECT_THROW(event.find_tracks(small.hits.view()), ConfigError);
    }
    EXPECT_EQ(tracks_of_small(), tracks);
  }
}

TEST_P(DeviceEventOn, WithoutMemoryForMoreEdgesThanRowsTakesTheNext) {
  constexpr std::size_t kRows = 10'000;
  DeviceEvent event(*queue_, {}, {}, kRows);
  Event small = generate({.particles = 30}, 0);
  Event large = generate({.particles = 400}, 1);
  event.build_graph(large.hits.const_view());
  ASSERT_FALSE(event.find_tracks(large.hits.view()).is_complete);
  const NoMoreMemory full(GetParam());
  EXPECT_THROW(event.build_graph(large.hits.const_view()), DeviceFullError);
  EXPECT_EQ(event.build_graph(small.hits.const_view()), kRows);
  EXPECT_TRUE(event.find_tracks(small.hits.view()).is_complete);
}

TEST_P(DeviceEventOn, WithAnEdgeCapacityWaitsForTheTracksAloneAndNamesBadHitsThen) {
  DeviceEvent event(*queue_, {}, {}, 100'000);
  Event large = generate({.particles = 400}, 0);
  event.build_graph(large.hits.const_view());
  ASSERT_TRUE(event.find_tracks(large.hits.view()).is_complete);
  Event input = generate({.particles = 300}, 1);
  const test::RuntimeCalls before = test::runtime_calls();
  event.build_graph(input.hits.const_view());
  event.find_tracks(input.hits.view());
  const test::RuntimeCalls after = test::runtime_calls();
  const std::size_t gpu = queue_->device().is_cpu() ? 0 : 1;
  EXPECT_EQ(after.waits - before.waits, gpu);
  EXPECT_EQ(after.copies_down - before.copies_down, gpu);
  EXPECT_EQ(after.allocations - before.allocations, 0U);

  input.hits.view().y[5] = std::numeric_limits<float>::quiet_NaN();
  event.build_graph(input.hits.const_view());
  EXPECT_THAT([&] { event.find_tracks(input.hits.view()); },
              ThrowsMessage<InputError>(HasSubstr("hit row 5")));
}

TEST_P(DeviceEventOn, MovesTheHitsUpAndTheTracksDownAndNothingElse) {
  DeviceEvent event(*queue_);
  Event large = generate({.particles = 400}, 0);
  event.build_graph(large.hits.const_view());
  event.find_tracks(large.hits.view());
  const std::byte* edges = event.edges().data();

  Event input = generate({.particles = 300}, 1);
  const test::RuntimeCalls before = test::runtime_calls();
  event.build_graph(input.hits.const_view());
  event.find_tracks(input.hits.view());
  const test::RuntimeCalls after = test::runtime_calls();
  EXPECT_EQ(event.edges().data(), edges);
  const std::size_t n = input.hits.size();
  EXPECT_GE(event.bytes_to_device(), 24 * n);
  EXPECT_LE(event.bytes_to_device(), 24 * n + 6 * kAlignment);
  EXPECT_GE(event.bytes_to_host(), 8 * n);
  EXPECT_LE(event.bytes_to_host(), 8 * n + 3 * kAlignment);
  const std::size_t gpu = queue_->device().is_cpu() ? 0 : 1;
  EXPECT_EQ(after.copies_up - before.copies_up, gpu);
  EXPECT_EQ(after.copies_down - before.copies_down, 2 * gpu);
  EXPECT_EQ(after.other_copies - before.other_copies, 0U);
  EXPECT_EQ(after.bytes_up - before.bytes_up, gpu * event.bytes_to_device());
  EXPECT_EQ(after.bytes_down - before.bytes_down, gpu * event.bytes_to_host());
  EXPECT_EQ(after.waits - before.waits, 2 * gpu);
  EXPECT_EQ(after.allocations - before.allocations, 0U);
  RecordProperty("kernels", static_cast<int>(after.kernels - before.kernels));
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceEventOn, testing::Values(Device::cpu(), Device::cuda(0)),
                         [](const auto& device) { return device.param.is_cpu() ? "Cpu" : "Cuda"; });
INSTANTIATE_TEST_SUITE_P(Devices, WholeEventOn, testing::Values(Device::cpu(), Device::cuda(0)),
                         [](const auto& device) { return device.param.is_cpu() ? "Cpu" : "Cuda"; });

TEST(DeviceEvent, RefusesImpossibleCuts) {
  EXPECT_THROW(DeviceEvent(Queue(Device::cpu()), GraphCuts{.min_dr = -1}), ConfigError);
}

/// Rows by several threads in an order of their own. The atomic shows ThreadSanitizer what a oneTBB that
/// was built without it does not.
struct TbbLauncher : events::SerialLauncher {
  template <class Functor>
  void rows(std::size_t n, const Functor& functor) const {
    std::atomic<std::size_t> seen;
    seen.store(0, std::memory_order_release);
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, n, 16), [&](const auto& some) {
      static_cast<void>(seen.load(std::memory_order_acquire));
      for (std::size_t row = some.end(); row-- > some.begin();) functor(row);
      seen.fetch_add(1, std::memory_order_release);
    });
    static_cast<void>(seen.load(std::memory_order_acquire));
  }
};

/// Teams of several threads, which go in rounds: they cannot sort.
struct ThreadTeams : events::SerialLauncher {
  static constexpr std::size_t kLanes = 3;

  struct Shared {
    std::barrier<> barrier{kLanes};
    std::atomic<int> votes = 0;
  };

  struct Team {
    Shared& shared;
    std::size_t own_lane;

    std::size_t lane() const { return own_lane; }
    static std::size_t size() { return kLanes; }
    void sync() const { shared.barrier.arrive_and_wait(); }
    bool any(bool condition) const {
      shared.votes += condition ? 1 : 0;
      sync();
      const bool result = shared.votes > 0;
      sync();
      if (own_lane == 0) shared.votes = 0;
      sync();
      return result;
    }
    template <class T, class Less>
    static bool sort(T* /*values*/, std::size_t /*n*/, const Less& /*less*/) {
      return false;
    }
  };

  template <class Functor>
  void teams(std::size_t n, const Functor& functor) const {
    Shared shared;
    std::vector<std::thread> lanes;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      lanes.emplace_back([&, lane] {
        for (std::size_t i = 0; i < n; ++i) functor(Team{shared, lane}, i);
      });
    }
    for (std::thread& lane : lanes) lane.join();
  }
};

TEST(Kernels, GiveTheSameByTeamsOfSeveralLanes) {
  expect_results_of_the_host(
      ThreadTeams{}, [] {}, 5);
}

TEST(Kernels, GiveTheSameInAnyOrder) {
  expect_results_of_the_host(
      TbbLauncher{}, [] {}, 50);
}

}  // namespace
}  // namespace tensoa::track
