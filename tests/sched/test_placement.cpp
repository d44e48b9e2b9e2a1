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

/// An event ends and frees its place.
void end_event(Placement& placement, std::size_t device, Seconds latency, Time now = Time()) {
  placement.end(device, latency, now);
  placement.give_back(device);
}

constexpr std::size_t kRoom = 8;

std::vector<Device> gpus(std::size_t count) {
  std::vector<Device> devices;
  for (int index = 0; index < static_cast<int>(count); ++index) {
    devices.push_back(Device::cuda(index));
  }
  return devices;
}

/// GPUs with a cost for each event; the first event there takes longer.
class Simulation {
 public:
  /// @param is_serial a device does one event after another, else all at the same time
  Simulation(std::vector<double> costs, double warm_up, bool is_serial = true)
      : placement(gpus(costs.size()), kRoom),
        costs_(std::move(costs)),
        free_at_(costs_.size()),
        warm_up_(warm_up),
        is_serial_(is_serial) {
    events.resize(costs_.size());
    for (std::size_t device = 0; device < costs_.size(); ++device) {
      for (std::size_t place = 0; place < kRoom; ++place) placement.add_place(device);
    }
  }

  /// @return when the last event is done
  double run(std::size_t count) {
    using End = std::pair<double, std::pair<std::size_t, double>>;  // when, where, since when
    std::priority_queue<End, std::vector<End>, std::greater<>> ends;
    double now = 0;
    for (std::size_t taken = 0; taken < count || !ends.empty();) {
      const auto device =
          taken < count ? placement.take(taken, true, Time(seconds(now))) : std::nullopt;
      if (device) {
        ++taken;
        const double warm_up = events[*device]++ == 0 ? warm_up_ : 0;
        const double begin = is_serial_ ? std::max(free_at_[*device], now) : now;
        free_at_[*device] = begin + warm_up + costs_[*device];
        ends.push({free_at_[*device], {*device, now}});
        continue;
      }
      const auto [end, of] = ends.top();
      ends.pop();
      now = end;
      end_event(placement, of.first, Seconds(now - of.second), Time(seconds(now)));
    }
    return now;
  }

  Placement placement;
  std::vector<std::size_t> events;

 private:
  std::vector<double> costs_;
  std::vector<double> free_at_;
  double warm_up_;
  bool is_serial_;
};

TEST(Placement, SharesEventsAsTheDevicesAreFastNotAsTheyWarmUp) {
  Simulation simulation({0.004, 0.002}, 0.5);
  const double end = simulation.run(5000);
  const double ideal = 5000 / (1 / 0.004 + 1 / 0.002);
  EXPECT_LT(end, 1.15 * ideal + 1.1);
  EXPECT_GT(static_cast<double>(simulation.events[1]),
            1.8 * static_cast<double>(simulation.events[0]));
}

TEST(Placement, LeavesADeviceAloneOnWhichAnEventTakesLongerThanAllTheOthersThatMayGoOn) {
  Simulation simulation({1.0, 0.001}, 0);
  const double end = simulation.run(20000);
  EXPECT_LT(end, 20000 * 0.001 * 1.1 + 2);
  EXPECT_LT(simulation.events[0], 8U);
}

TEST(Placement, UsesDevicesThatAreAlikeAlike) {
  for (const bool is_serial : {true, false}) {  // events wait for each other, or for something else
    Simulation simulation({0.01, 0.01, 0.01}, 0.3, is_serial);
    simulation.run(3000);
    for (const std::size_t events : simulation.events) {
      EXPECT_NEAR(static_cast<double>(events), 1000, 100);
    }
  }
}

TEST(Placement, TriesADeviceAgainThatWasLeftOutForLongAndEachTimeLater) {
  Placement placement(gpus(2), 1);
  const auto at = [](double time) { return Time(seconds(time)); };
  placement.add_place(0);
  placement.add_place(1);
  EXPECT_EQ(placement.take(0, true, at(0)), 0U);
  EXPECT_EQ(placement.take(1, true, at(0)), 1U);
  end_event(placement, 0, Seconds(0.01), at(0.01));
  EXPECT_EQ(placement.take(1, true, at(0)), 0U);
  end_event(placement, 0, Seconds(0.01), at(0.02));
  EXPECT_EQ(placement.take(2, true, at(1)), 0U);  // stays there
  end_event(placement, 1, Seconds(2), at(1));     // it warmed up
  for (int slow = 0; slow < 3; ++slow) {          // one would end after 100 of the other
    EXPECT_EQ(placement.take(3, true, at(1)), 1U);
    end_event(placement, 1, Seconds(1), at(2));
  }
  EXPECT_EQ(placement.take(4, true, at(101)), std::nullopt);
  EXPECT_EQ(placement.take(4, true, at(103)), 1U);
  end_event(placement, 1, Seconds(1), at(104));
  placement.take(5, true, at(104));
  end_event(placement, 1, Seconds(1), at(105));
  placement.take(5, true, at(105));
  end_event(placement, 1, Seconds(1), at(106));
  EXPECT_EQ(placement.take(6, true, at(300)), std::nullopt);
  EXPECT_EQ(placement.take(6, true, at(307)), 1U);
}

TEST(Placement, GivesTheCpuNextToAGpuAnEventOnlyWhileAThreadIsIdle) {
  Placement placement({Device::cpu(), Device::cuda(0)}, 1);
  placement.add_place(0);
  placement.add_place(1);
  EXPECT_EQ(placement.take(0, false), 1U);
  EXPECT_EQ(placement.take(1, false), std::nullopt);
  EXPECT_EQ(placement.take(1, true), 0U);
  end_event(placement, 0, Seconds(1));
  end_event(placement, 1, Seconds(1));
  placement.lose(1);
  EXPECT_EQ(placement.take(2, false), 0U) << "it is the only one now";
  Placement alone({Device::cpu()}, 1);
  alone.add_place(0);
  EXPECT_EQ(alone.take(0, false), 0U);
}

TEST(Placement, ByNumberGivesEachEventItsDeviceOrLetsItWait) {
  Placement placement(gpus(2), 1, {.is_by_number = true});
  placement.add_place(0);
  EXPECT_EQ(placement.take(0, true), 0U);
  EXPECT_EQ(placement.take(1, true), std::nullopt) << "its device has no place yet";
  placement.add_place(1);
  EXPECT_EQ(placement.take(1, true), 1U);
  end_event(placement, 1, Seconds(1));
  EXPECT_EQ(placement.take(2, true), std::nullopt) << "device 1 is free, and it is one of device 0";
  placement.lose(0);
  EXPECT_EQ(placement.take(2, true), 1U);
}

/// Events of device 1, a GPU next to the CPU, one after another.
void on_gpu(Placement& placement, std::size_t count, double latency) {
  for (std::size_t event = 0; event < count; ++event) {
    EXPECT_EQ(placement.take(event, false, Time()), 1U);
    end_event(placement, 1, Seconds(latency));
  }
}

/// Whether one of the next events is the CPU's, device 0, next to a GPU.
bool is_cpu_next(Placement& placement) {
  bool is_cpu = false;
  while (const auto device = placement.take(0, true, Time())) is_cpu |= *device == 0;
  return is_cpu;
}

constexpr std::size_t kEnough = kRoom + 10;  ///< events that say how fast a GPU is

TEST(Placement, GivesTheCpuAnEventWithoutAnIdleThreadWhereNothingElseIsUnderWay) {
  Placement placement({Device::cpu(), Device::cuda(0)}, kRoom);
  placement.add_place(0);
  placement.add_place(0);
  placement.add_place(1);
  on_gpu(placement, kEnough, 1);
  EXPECT_EQ(placement.take(0, false, Time()), 1U);
  for (int event = 0; event < 2; ++event) {
    EXPECT_EQ(placement.take(0, true, Time()), 0U);
    end_event(placement, 0, Seconds(1));
  }
  end_event(placement, 1, Seconds(1000));
  on_gpu(placement, 2, 1000);
  while (placement.take(0, false, Time()) == 1U) end_event(placement, 1, Seconds(1000));
  end_event(placement, 0, Seconds(1));
  for (int event = 0; event < 4; ++event) {
    EXPECT_EQ(placement.take(0, true, Time()), 0U) << "the GPU is left out";
    EXPECT_EQ(placement.take(0, true, Time()), 0U) << "and there is a place more";
    end_event(placement, 0, Seconds(1));
    end_event(placement, 0, Seconds(1));
  }
}

TEST(Placement, BeginsWhenEachGpuHasAPlaceAndTriesTheCpuMeanwhile) {
  Placement placement({Device::cpu(), Device::cuda(0)}, kRoom);
  placement.add_place(0);
  EXPECT_EQ(placement.take(0, true), 0U);
  end_event(placement, 0, Seconds(0.001));
  EXPECT_EQ(placement.take(1, true), std::nullopt) << "nothing to compare it with";
  placement.add_place(1);
  on_gpu(placement, kEnough - 1, 1);
  EXPECT_FALSE(is_cpu_next(placement));
  end_event(placement, 1, Seconds(1));
  EXPECT_TRUE(is_cpu_next(placement)) << "the GPU is known now";

  Placement two(gpus(2), kRoom);
  two.add_place(1);
  EXPECT_EQ(two.take(0, true), std::nullopt);
  two.add_place(0);
  EXPECT_EQ(two.take(0, true), 0U);
}

TEST(Placement, GivesTheCpuEventsThatTakeHalfOfWhatTheOthersMayBeginMeanwhile) {
  for (const bool is_fast : {true, false}) {
    constexpr std::size_t kEnded = 12;
    Placement placement({Device::cpu(), Device::cuda(0)}, kRoom, {.ended = kEnded});
    placement.add_place(0);
    for (std::size_t place = 0; place < kRoom; ++place) placement.add_place(1);
    on_gpu(placement, kEnough, 1);
    EXPECT_EQ(placement.take(0, true, Time()), 0U);
    end_event(placement, 0, Seconds((is_fast ? 0.49 : 0.51) * (kRoom + kEnded)));
    EXPECT_EQ(is_cpu_next(placement), is_fast);
  }
}

TEST(Placement, MeasuresADeviceWithoutTheEventsThatWaitThereForTheirTurn) {
  Placement placement({Device::cpu(), Device::cuda(0)}, kRoom);
  placement.add_place(0);
  for (std::size_t place = 0; place < kRoom; ++place) placement.add_place(1);
  on_gpu(placement, kEnough, 1);
  for (int turn = 0; turn < 4; ++turn) {
    for (std::size_t event = 0; event < kRoom; ++event) {
      EXPECT_EQ(placement.take(event, false, Time()), 1U);
    }
    for (std::size_t left = kRoom; left > 0; --left) {
      placement.end(1, Seconds(static_cast<double>(left)));  // one a second
    }
    for (std::size_t event = 0; event < kRoom; ++event) placement.give_back(1);  // all together
  }
  EXPECT_TRUE(is_cpu_next(placement));
  end_event(placement, 0, Seconds(0.49 * kRoom));
  for (int slow = 0; slow < 2; ++slow) {
    EXPECT_TRUE(is_cpu_next(placement));
    end_event(placement, 0, Seconds(0.51 * kRoom));
  }
  EXPECT_FALSE(is_cpu_next(placement)) << "the GPU does one a second";
}

TEST(Placement, WantsPlacesUpToItsRoomWhileAllAreTaken) {
  Placement placement(gpus(1), 2);
  EXPECT_TRUE(placement.wants_place(0));
  placement.add_place(0);
  EXPECT_FALSE(placement.wants_place(0));
  EXPECT_EQ(placement.take(0, true), 0U);
  EXPECT_TRUE(placement.wants_place(0));
  placement.add_place(0);
  EXPECT_EQ(placement.take(1, true), 0U);
  EXPECT_FALSE(placement.wants_place(0));
}

TEST(Placement, TakesNothingWhereAllAreLost) {
  Placement placement(gpus(2), 1);
  placement.add_place(0);
  placement.add_place(1);
  placement.lose(0);
  EXPECT_EQ(placement.take(0, true), 1U);
  EXPECT_TRUE(placement.is_any_left());
  placement.lose(1);
  EXPECT_FALSE(placement.is_any_left());
  EXPECT_EQ(placement.take(1, true), std::nullopt);
  EXPECT_EQ(placement.move(1), std::nullopt);
}

}  // namespace
}  // namespace tensoa::sched::detail
