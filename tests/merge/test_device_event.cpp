// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/merge/device_event.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensoa/core/error.hpp"
#include "tensoa/events/impl/random.hpp"
#include "tensoa/merge/generator.hpp"

namespace tensoa::merge {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

template <template <template <class> class> class Layout>
PortableCollection<Layout> to_host(const Queue& queue, const PortableCollection<Layout>& there) {
  PortableCollection<Layout> here(there.size(), Device::cpu());
  copy(queue, there, here);
  queue.wait();
  return here;
}

/// Whether two collections have the same bits in all columns but those of these names.
template <template <template <class> class> class Layout>
void expect_same(const PortableCollection<Layout>& got, const PortableCollection<Layout>& expected,
                 const std::string& left_out = "") {
  ASSERT_EQ(got.size(), expected.size());
  const auto columns = [](const PortableCollection<Layout>& of) {
    return column_records(of.const_view());
  };
  const auto a = columns(got);
  const auto b = columns(expected);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (kFieldNames<Layout>[i] == left_out) continue;
    EXPECT_EQ(std::memcmp(a[i].data, b[i].data, a[i].info.element_size() * got.size()), 0)
        << kFieldNames<Layout>[i];
  }
}

/// Clusters of fragments at random places, some of them equal.
Event random_event(std::uint64_t seed, std::size_t n_fragments) {
  events::Random random(seed);
  std::vector<std::array<float, 5>> rows;
  std::vector<std::int64_t> ids;
  for (std::size_t f = 0; f < n_fragments; ++f) {
    const double z = (random.chance(0.5) ? 1 : -1) * random.uniform(3200, 5000);
    const double x = random.uniform(-900, 900);
    const double y = random.uniform(-900, 900);
    const std::int64_t n = 1 + random.poisson(f % 7 == 0 ? 90 : 5);
    for (std::int64_t i = 0; i < n; ++i) {
      rows.push_back({static_cast<float>(x + std::round(random.normal(20))),
                      static_cast<float>(y + std::round(random.normal(20))),
                      static_cast<float>(z + 10 * std::round(random.normal(5))),
                      f % 11 == 0 ? 0.0F : static_cast<float>(random.exponential(1)),
                      random.chance(0.3) ? kNoTime : static_cast<float>(random.normal(0.2))});
      ids.push_back(static_cast<std::int64_t>(f));
    }
  }
  PortableCollection<Cluster> clusters(rows.size(), Device::cpu());
  const View<Cluster> v = clusters.view();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    v.x[i] = rows[i][0];
    v.y[i] = rows[i][1];
    v.z[i] = rows[i][2];
    v.energy[i] = rows[i][3];
    v.time[i] = rows[i][4];
    v.layer[i] = 1 + static_cast<std::int32_t>(i % 47);
    v.cells[i] = 1 + static_cast<std::int32_t>(i % 5);
    v.fragment_id[i] = ids[i];
    v.particle_id[i] = ids[i] % 5;
  }
  return make_event("random", clusters.const_view(), true);
}

/// The pairs of the documented cuts, of all pairs.
std::vector<std::pair<std::int64_t, std::int64_t>> all_pairs(ConstView<Node> nodes,
                                                             const LinkCuts& cuts) {
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (std::size_t s = 0; s < nodes.size(); ++s) {
    for (std::size_t t = 0; t < nodes.size(); ++t) {
      const double zs = nodes.z[s];
      const double zt = nodes.z[t];
      if (s == t || zs * zt < 0) continue;
      if (std::abs(zs) > std::abs(zt) || (std::abs(zs) == std::abs(zt) && s > t)) continue;
      const double x = nodes.x[t] - zt / zs * nodes.x[s];
      const double y = nodes.y[t] - zt / zs * nodes.y[s];
      if (std::sqrt(x * x + y * y) > cuts.max_transverse) continue;
      const double gap = std::max(static_cast<double>(nodes.z_min[t]) - nodes.z_max[s],
                                  static_cast<double>(nodes.z_min[s]) - nodes.z_max[t]);
      if (gap > cuts.max_gap) continue;
      pairs.emplace_back(s, t);
    }
  }
  return pairs;
}

TEST(DeviceEvent, HasTheEdgesOfAllPairsInOrder) {
  for (const LinkCuts cuts : {LinkCuts{}, LinkCuts{40, 100}, LinkCuts{5000, 1e5}, LinkCuts{0, 0}}) {
    DeviceEvent on_device(Queue(Device::cpu()), cuts);
    for (const std::size_t n : {0U, 1U, 2U, 30U, 400U}) {
      Event event = random_event(n, n);
      on_device.start_graph(event);
      const std::size_t n_edges = on_device.finish_graph();
      const ConstView<Edge> edges = on_device.edges().const_view();
      const auto expected = all_pairs(on_device.nodes().const_view(), cuts);
      ASSERT_EQ(n_edges, expected.size());
      for (std::size_t e = 0; e < n_edges; ++e) {
        ASSERT_EQ(std::pair(edges.source[e], edges.target[e]), expected[e]) << e;
        const std::int64_t particle =
            event.fragments.view().particle_id[static_cast<std::size_t>(edges.source[e])];
        const std::int64_t other =
            event.fragments.view().particle_id[static_cast<std::size_t>(edges.target[e])];
        ASSERT_EQ(edges.truth[e] != 0, particle != 0 && particle == other);
      }
    }
  }
}

TEST(DeviceEvent, CountsTheNeighboursOfAFragment) {
  DeviceEvent on_device{Queue(Device::cpu())};
  Event event = random_event(3, 300);
  on_device.start_graph(event);
  on_device.finish_graph();
  std::vector<float> neighbours(300);
  const ConstView<Edge> edges = on_device.edges().const_view();
  for (std::size_t e = 0; e < edges.size(); ++e) {
    ++neighbours[static_cast<std::size_t>(edges.source[e])];
    ++neighbours[static_cast<std::size_t>(edges.target[e])];
  }
  const ConstView<Node> nodes = on_device.nodes().const_view();
  for (std::size_t f = 0; f < 300; ++f) EXPECT_EQ(nodes.fragment_density[f], neighbours[f]);
}

/// Merged particles in the words of the header.
std::vector<std::int64_t> followed(ConstView<Node> nodes, ConstView<Edge> edges, float min_score) {
  std::vector<std::size_t> parent(nodes.size());
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  std::vector<float> best(nodes.size(), -1);
  for (std::size_t e = 0; e < edges.size(); ++e) {
    auto child = static_cast<std::size_t>(edges.source[e]);
    auto other = static_cast<std::size_t>(edges.target[e]);
    if (nodes.energy[child] > nodes.energy[other] ||
        (nodes.energy[child] == nodes.energy[other] && child < other)) {
      std::swap(child, other);
    }
    if (edges.score[e] < min_score || edges.score[e] <= best[child]) continue;
    best[child] = edges.score[e];
    parent[child] = other;
  }
  const auto root = [&](std::size_t row) {
    while (parent[row] != row) row = parent[row];
    return row;
  };
  std::map<std::size_t, std::int64_t> numbers;
  std::vector<std::int64_t> merged;
  for (std::size_t row = 0; row < nodes.size(); ++row) {
    merged.push_back(
        numbers.emplace(root(row), static_cast<std::int64_t>(numbers.size())).first->second);
  }
  return merged;
}

class DeviceEventOn : public testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    const Device device = GetParam();
    if (!device.is_cpu() && device_count(device.kind) == 0) GTEST_SKIP() << "no CUDA device";
    if (!DeviceEvent::is_supported(device)) GTEST_SKIP() << "no GPU kernels in this build";
    queue_.emplace(device);
  }

  /// Scores that repeat.
  static std::vector<float> some_scores(std::size_t n, std::uint64_t seed) {
    events::Random random(seed);
    std::vector<float> scores(n);
    for (float& score : scores) score = static_cast<float>(random.below(21)) / 20;
    return scores;
  }

  void set_scores(DeviceEvent& event, const std::vector<float>& scores) {
    copy_bytes(*queue_, event.edges().view().score.data(), queue_->device(), scores.data(),
               Device::cpu(), scores.size() * sizeof(float));
    queue_->wait();
  }

  std::optional<Queue> queue_;
};

TEST_P(DeviceEventOn, AgreesWithTheCpuToTheBit) {
  DeviceEvent here{Queue(Device::cpu())};
  DeviceEvent there(*queue_);
  for (std::uint64_t i = 0; i < 12; ++i) {
    Event a = i == 11 ? generate({.seed = 1, .particles = 10, .pile_up = 200}, i)
              : i % 2 ? random_event(i, 40 * i)
                      : generate({.seed = 5, .particles = static_cast<std::int64_t>(i)}, i);
    here.start_graph(a);
    const std::size_t n_edges = here.finish_graph();
    there.start_graph(a);
    ASSERT_EQ(there.finish_graph(), n_edges);
    expect_same(to_host(*queue_, there.nodes()), here.nodes());
    expect_same(to_host(*queue_, there.edges()), here.edges(), "score");
  }
}

TEST_P(DeviceEventOn, EachFragmentFollowsItsBestEdge) {
  DeviceEvent on_device(*queue_);
  for (const std::size_t n : {0U, 1U, 2U, 50U, 700U}) {
    Event event = random_event(n, n);
    on_device.start_graph(event);
    const std::vector<float> scores = some_scores(on_device.finish_graph(), n);
    set_scores(on_device, scores);
    for (const float min_score : {0.0F, 0.5F, 1.0F}) {
      on_device.start_graph(event);
      on_device.finish_graph();
      set_scores(on_device, scores);
      on_device.start_merge(min_score, true);
      const MergedFragments merged = on_device.finish_merge(event);
      const auto nodes = to_host(*queue_, on_device.nodes());
      const auto edges = to_host(*queue_, on_device.edges());
      const auto expected = followed(nodes.const_view(), edges.const_view(), min_score);
      const auto* ids = event.fragments.view().merged_id.data();
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), ids)) << n << ' ' << min_score;
      EXPECT_EQ(merged.merged,
                expected.empty() ? 0 : *std::max_element(expected.begin(), expected.end()) + 1);
      EXPECT_EQ(merged.bad_scores, 0U);
      std::size_t selected = 0;
      std::size_t truths = 0;
      for (std::size_t e = 0; e < edges.size(); ++e) {
        selected += edges.const_view().score[e] >= min_score ? 1 : 0;
        truths += edges.const_view().truth[e];
      }
      EXPECT_EQ(merged.edges.selected, selected);
      EXPECT_EQ(merged.edges.true_edges, truths);
      EXPECT_EQ(merged.edges.edges, edges.size());
    }
  }
}

TEST_P(DeviceEventOn, HasTheSameEdgesAndAnswerInRowsThatWereThereBefore) {
  DeviceEvent counted(*queue_);
  for (const std::size_t n : {0U, 1U, 2U, 50U, 300U}) {
    Event event = random_event(n, n);
    counted.start_graph(event);
    const std::size_t n_edges = counted.finish_graph();
    const auto nodes = to_host(*queue_, counted.nodes());
    auto edges = to_host(*queue_, counted.edges());
    std::vector<float> scores = some_scores(n_edges, n);
    std::copy_n(scores.data(), n_edges, edges.view().score.data());
    const auto expected = followed(nodes.const_view(), edges.const_view(), 0.5F);
    for (const std::size_t capacity : {n_edges + 1, n_edges + 700}) {
      DeviceEvent event_in_rows(*queue_, {}, capacity);
      event_in_rows.start_graph(event);
      ASSERT_EQ(event_in_rows.finish_graph(), n == 0 ? 0 : capacity);
      const auto all = to_host(*queue_, event_in_rows.edges());
      const auto all_nodes = to_host(*queue_, event_in_rows.nodes());
      ASSERT_EQ(all_nodes.size(), n == 0 ? 0 : n + 1);
      if (n > 0) {
        EXPECT_EQ(all_nodes.const_view().x[n], 0);
        EXPECT_EQ(all_nodes.const_view().time[n], 0);
      }
      for (std::size_t e = n_edges; e < all.size(); ++e) {
        ASSERT_EQ(all.const_view().source[e], static_cast<std::int64_t>(n));
        ASSERT_EQ(all.const_view().target[e], static_cast<std::int64_t>(n));
        ASSERT_EQ(all.const_view().farthest[e], 0);
        ASSERT_EQ(all.const_view().truth[e], 0);
      }
      scores.resize(all.size(), std::numeric_limits<float>::quiet_NaN());  // of no edge
      set_scores(event_in_rows, scores);
      event_in_rows.start_merge(0.5F, true);
      const MergedFragments merged = event_in_rows.finish_merge(event);
      EXPECT_TRUE(merged.is_complete);
      EXPECT_EQ(merged.bad_scores, 0U);
      EXPECT_EQ(merged.edges.edges, n_edges);
      expect_same(to_host(*queue_, event_in_rows.edges()), edges, "score");
      expect_same(to_host(*queue_, event_in_rows.nodes()), nodes);
      const auto* ids = event.fragments.view().merged_id.data();
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), ids)) << n;
    }
  }
}

TEST_P(DeviceEventOn, SaysWhereThereAreTooFewRowsAndHasThemTheNextTime) {
  DeviceEvent counted(*queue_);
  Event event = random_event(4, 200);
  counted.start_graph(event);
  const std::size_t n_edges = counted.finish_graph();
  ASSERT_GT(n_edges, 100U);
  DeviceEvent event_in_rows(*queue_, {}, n_edges - 1);
  for (int repeat = 0; repeat < 2; ++repeat) {
    event_in_rows.start_graph(event);
    ASSERT_EQ(event_in_rows.finish_graph(), n_edges - 1);
    event_in_rows.start_merge(0);
    MergedFragments merged = event_in_rows.finish_merge(event);
    EXPECT_FALSE(merged.is_complete);
    EXPECT_EQ(merged.edges.edges, n_edges);
    event_in_rows.start_graph(event);
    ASSERT_EQ(event_in_rows.finish_graph(), n_edges);
    set_scores(event_in_rows, std::vector<float>(n_edges, 0.5F));
    event_in_rows.start_merge(0);
    merged = event_in_rows.finish_merge(event);
    EXPECT_TRUE(merged.is_complete);
    EXPECT_EQ(merged.edges.selected, n_edges);
    expect_same(to_host(*queue_, event_in_rows.edges()), to_host(*queue_, counted.edges()),
                "score");
  }
}

TEST_P(DeviceEventOn, CountsBadScoresAndLeavesTheAnswer) {
  DeviceEvent on_device(*queue_);
  Event event = random_event(1, 100);
  on_device.start_graph(event);
  std::vector<float> scores(on_device.finish_graph(), 0.5F);
  ASSERT_GT(scores.size(), 3U);
  scores[0] = std::numeric_limits<float>::quiet_NaN();
  scores[1] = -0.01F;
  scores[2] = 1.01F;
  set_scores(on_device, scores);
  on_device.start_merge(0.5F);
  EXPECT_EQ(on_device.finish_merge(event).bad_scores, 3U);
  EXPECT_EQ(event.fragments.view().merged_id[0], -1);
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceEventOn, testing::Values(Device::cpu(), Device::cuda(0)),
                         [](const auto& test) { return test.param.is_cpu() ? "cpu" : "cuda"; });

TEST(DeviceEvent, RefusesCutsThatAreNone) {
  for (const double cut : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(
        [&] {
          DeviceEvent(Queue(Device::cpu()), LinkCuts{cut, 1});
        },
        ThrowsMessage<ConfigError>(HasSubstr("link cut max_transverse")));
    EXPECT_THAT(
        [&] {
          DeviceEvent(Queue(Device::cpu()), LinkCuts{1, cut});
        },
        ThrowsMessage<ConfigError>(HasSubstr("link cut max_gap")));
  }
}

TEST(DeviceEvent, RefusesRowsThatCannotBeCounted) {
  EXPECT_THAT([] { DeviceEvent(Queue(Device::cpu()), {}, 0xffffffffU); },
              ThrowsMessage<InputError>(HasSubstr("expected fewer than 2^32 - 1")));
}

TEST(DeviceEvent, TakesFragmentsOnOneLayer) {
  Event event = random_event(9, 120);
  const View<Cluster> clusters = event.clusters.view();
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    clusters.z[i] = 3500;
    clusters.layer[i] = 12;
  }
  DeviceEvent on_device{Queue(Device::cpu())};
  on_device.start_graph(event);
  const std::size_t n_edges = on_device.finish_graph();
  const ConstView<Node> nodes = on_device.nodes().const_view();
  ASSERT_EQ(n_edges, all_pairs(nodes, {}).size());
  EXPECT_GT(n_edges, 0U);
  for (std::size_t f = 0; f < nodes.size(); ++f) {
    EXPECT_LT(nodes.variance_3[f], 1e-6F);
    EXPECT_EQ(nodes.first_layer[f], nodes.last_layer[f]);
    EXPECT_TRUE(std::isfinite(nodes.cluster_density[f]));
  }
  const ConstView<Edge> edges = on_device.edges().const_view();
  for (std::size_t e = 0; e < n_edges; ++e) {
    EXPECT_TRUE(std::isfinite(edges.cosine[e]) && std::isfinite(edges.nearest[e]));
  }
}

TEST(DeviceEvent, RefusesCallsOutOfTurn) {
  DeviceEvent on_device{Queue(Device::cpu())};
  Event event = random_event(1, 3);
  EXPECT_THROW(on_device.finish_graph(), ConfigError);
  EXPECT_THROW(on_device.start_merge(0.5F), ConfigError);
  EXPECT_THROW(on_device.finish_merge(event), ConfigError);
  on_device.start_graph(event);
  EXPECT_THROW(on_device.start_merge(0.5F), ConfigError);
  on_device.finish_graph();
  on_device.start_merge(2);
  Event other = random_event(1, 4);
  EXPECT_THAT([&] { on_device.finish_merge(other); },
              ThrowsMessage<ConfigError>(HasSubstr("an event of 4 fragments")));
  EXPECT_EQ(on_device.finish_merge(event).merged, 3U);
}

}  // namespace
}  // namespace tensoa::merge
