// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "placement.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <queue>
#include <utility>
#include <vector>

namespace tensoa::sched::detail {
namespace {

using Seconds = Placement::Seconds;
using Time = Placement::Clock::time_point;

Placement::Clock::duration seconds(double count) {
  return std::chrono::duration_cast<Placement::Clock::duration>(Seconds(count));
}

/// Devices that take so long for an event, one after another; the first one there takes longer.
class Simulation {
 public:
  Simulation(std::vector<std::size_t> rooms, std::vector<double> costs, double warm_up)
      : placement(rooms), costs_(std::move(costs)), free_at_(rooms.size()), warm_up_(warm_up) {
    events.resize(rooms.size());
  }

  /// @return when the last event is done
  double run(std::size_t count) {
    using End = std::pair<double, std::pair<std::size_t, double>>;  // when, where, since when
    std::priority_queue<End, std::vector<End>, std::greater<>> ends;
    double now = 0;
    for (std::size_t taken = 0; taken < count || !ends.empty();) {
      const auto device = taken < count ? placement.take(Time(seconds(now))) : std::nullopt;
      if (device) {
        ++taken;
        const double warm_up = events[*device]++ == 0 ? warm_up_ : 0;
        free_at_[*device] = std::max(free_at_[*device], now) + warm_up + costs_[*device];
        ends.push({free_at_[*device], {*device, now}});
        continue;
      }
      const auto [end, of] = ends.top();
      ends.pop();
      now = end;
      placement.give_back(of.first, Seconds(now - of.second), Time(seconds(now)));
    }
    return now;
  }

  Placement placement;
  std::vector<std::size_t> events;

 private:
  std::vector<double> costs_;
  std::vector<double> free_at_;
  double warm_up_;
};

TEST(Placement, SharesEventsAsTheDevicesAreFastNotAsTheyWarmUp) {
  Simulation simulation({8, 8}, {0.020, 0.002}, 0.5);
  const double end = simulation.run(5000);
  const double ideal = 5000 / (1 / 0.020 + 1 / 0.002);
  EXPECT_LT(end, 1.15 * ideal + 1.1);
  EXPECT_GT(simulation.events[1], 8 * simulation.events[0]);
}

TEST(Placement, LeavesADeviceAloneThatWouldBeDoneLater) {
  Simulation simulation({8, 8}, {1.0, 0.001}, 0);
  const double end = simulation.run(20000);
  EXPECT_LT(end, 20000 * 0.001 * 1.1 + 2);
  EXPECT_LT(simulation.events[0], 8U);
}

TEST(Placement, UsesDevicesThatAreAlikeAlike) {
  Simulation simulation({4, 4, 4}, {0.01, 0.01, 0.01}, 0.3);
  simulation.run(3000);
  for (const std::size_t events : simulation.events)
    EXPECT_NEAR(static_cast<double>(events), 1000, 100);
}

TEST(Placement, TriesAnIdleDeviceAgainWhoseCostMayBeOld) {
  Placement placement({1, 1});
  const auto at = [](double time) { return Time(seconds(time)); };
  EXPECT_EQ(placement.take(at(0)), 0U);
  EXPECT_EQ(placement.take(at(0)), 1U);
  placement.give_back(0, Seconds(0.01), at(0.01));
  placement.give_back(1, Seconds(1), at(1));  // slow, the first time
  EXPECT_EQ(placement.take(at(1)), 0U);
  placement.give_back(0, Seconds(0.01), at(1.01));
  EXPECT_EQ(placement.take(at(30)), 0U) << "the first of two that were idle for long";
  EXPECT_EQ(placement.take(at(30)), 1U);
}

TEST(Placement, TakesNothingWhereAllAreLost) {
  Placement placement({1, 1});
  placement.lose(0);
  EXPECT_EQ(placement.take(), 1U);
  EXPECT_TRUE(placement.is_any_left());
  placement.lose(1);
  EXPECT_FALSE(placement.is_any_left());
  EXPECT_EQ(placement.take(), std::nullopt);
  EXPECT_EQ(placement.move(1), std::nullopt);
}

}  // namespace
}  // namespace tensoa::sched::detail
