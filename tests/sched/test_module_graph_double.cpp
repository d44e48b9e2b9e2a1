// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Graphs over simulated GPUs: queues that are blocked, devices that are lost, several devices at the
// same time.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "sched/event_sources.hpp"
#include "support/device_double.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/sched/module_graph.hpp"
#include "tensoa/sched/waiting.hpp"

namespace tensoa::sched {
namespace {

using test::DeviceDouble;
using test::in_arena;

constexpr Device kGpu = Device::cuda(0);
constexpr Device kOther = Device::cuda(1);

/// Sends each number to the device of its event and back.
class RoundTrips {
 public:
  explicit RoundTrips(std::size_t events) {
    graph.source(writes(number), [this, events](EventView event) {
      event.write(number) = event.number();
      return event.number() < events;
    });
    graph.module("round trip", reads(number), writes(memory, result),
                 [this](EventView event) -> Task {
                   if (before) before(event);
                   const std::size_t sent = 3 * event.read(number);
                   Buffer& there = event.write(memory);
                   copy_bytes(event.queue(), there.data(), event.device(), &sent, Device::cpu(),
                              sizeof sent);
                   copy_bytes(event.queue(), &event.write(result), Device::cpu(), there.data(),
                              event.device(), sizeof sent);
                   co_await done(event.queue());
                   if (after) after(event);
                 });
    graph.sink(
        "collect", reads(result), Order::kInput,
        [this](EventView event) { got.push_back(event.read(result)); },
        [this](EventView, const EventFailure& failure) { failures.push_back(failure); });
  }

  /// All events, each once.
  void expect_all(std::size_t events) const {
    ASSERT_EQ(got.size(), events);
    for (std::size_t event = 0; event < events; ++event) EXPECT_EQ(got[event], 3 * event);
    EXPECT_TRUE(failures.empty());
  }

  ModuleGraph graph;
  Datum<std::size_t> number = graph.data<std::size_t>("number");
  Datum<std::size_t> result = graph.data<std::size_t>("result");
  Datum<Buffer> memory = graph.data<Buffer>(
      "memory", [](const Queue& queue) { return Buffer(queue.device(), sizeof(std::size_t)); });
  std::function<void(EventView)> before;
  std::function<void(EventView)> after;
  std::vector<std::size_t> got;
  std::vector<EventFailure> failures;
};

/// How to wait, by name; polling is what a graph does by itself.
class ModuleGraphOnTheDouble : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { DeviceDouble::reset(); }
  void TearDown() override { DeviceDouble::reset(); }

  RunTotals run(RoundTrips& trips, int threads, RunOptions options) {
    const std::string way = GetParam();
    const auto waiting = way == "callback"   ? wait_by_callback()
                         : way == "threads"  ? wait_by_threads(8)
                         : way == "blocking" ? wait_by_blocking()
                                             : nullptr;
    options.waiting = waiting.get();
    return in_arena(threads, [&] { return trips.graph.run(options); });
  }
};

TEST_P(ModuleGraphOnTheDouble, OneThreadBeginsAllEventsInFlightWhileTheirQueuesAreBlocked) {
  if (std::string(GetParam()) == "blocking")
    GTEST_SKIP() << "the thread waits with the first event";
  constexpr std::size_t kInFlight = 4;
  RoundTrips trips(20);
  std::atomic<std::size_t> begun = 0;
  DeviceDouble::hold(0);
  trips.before = [&](EventView) {
    if (++begun == kInFlight) {
      std::thread([] { DeviceDouble::let_go(0); }).join();
    }
  };
  const RunTotals totals = run(trips, 1, {.devices = {kGpu}, .in_flight = kInFlight});
  trips.expect_all(20);
  EXPECT_EQ(totals.devices[0].events, 20U);
}

TEST_P(ModuleGraphOnTheDouble, QueuesThatAreHeldAgainAndAgainLoseNoEvent) {
  std::atomic<bool> is_over = false;
  std::jthread other([&] {
    while (!is_over) {
      DeviceDouble::hold(0);
      std::this_thread::yield();
      DeviceDouble::let_go(0);
    }
  });
  for (const int threads : {1, 4}) {
    RoundTrips trips(500);
    run(trips, threads, {.devices = {kGpu}, .in_flight = 8});
    trips.expect_all(500);
  }
  is_over = true;
}

TEST_P(ModuleGraphOnTheDouble, EventsGoToTheCpuAndBothGpus) {
  RoundTrips trips(300);
  const RunTotals totals =
      run(trips, 3, {.devices = {Device::cpu(), kGpu, kOther}, .in_flight = 2});
  trips.expect_all(300);
  ASSERT_EQ(totals.devices.size(), 3U);
  std::size_t events = 0;
  for (const auto& device : totals.devices) {
    EXPECT_GT(device.events, 0U) << to_string(device.device);
    events += device.events;
  }
  EXPECT_EQ(events, 300U);
}

TEST_P(ModuleGraphOnTheDouble, ADeviceThatIsLostIsTakenOutAndItsEventsRunElsewhereOnce) {
  for (const auto& [left, ended] :
       {std::pair(Device::cpu(), std::size_t{0}), std::pair(kOther, std::size_t{0}),
        std::pair(kOther, std::size_t{8})}) {
    DeviceDouble::reset();
    RoundTrips trips(200);
    // Each new device gets one of the first events.
    trips.before = [&](EventView event) {
      if (event.device() == kGpu) DeviceDouble::lose(0);
    };
    const RunTotals totals =
        run(trips, 2, {.devices = {kGpu, left}, .in_flight = 3, .ended = ended});
    trips.expect_all(200);
    EXPECT_TRUE(totals.devices[0].is_lost);
    EXPECT_FALSE(totals.devices[1].is_lost);
    EXPECT_GE(totals.rerun, 1U);
    EXPECT_EQ(totals.delivered, 200U);
    EXPECT_EQ(totals.failed, 0U);
  }
}

TEST_P(ModuleGraphOnTheDouble, GpusThatAreLostTogetherLeaveTheirEventsToTheCpu) {
  RoundTrips trips(200);
  trips.before = [&](EventView event) {
    if (event.device() != kGpu) return;
    DeviceDouble::lose(0);
    DeviceDouble::lose(1);
  };
  const RunTotals totals =
      run(trips, 2, {.devices = {kGpu, kOther, Device::cpu()}, .in_flight = 3, .ended = 8});
  trips.expect_all(200);
  EXPECT_TRUE(totals.devices[0].is_lost);
  EXPECT_TRUE(totals.devices[1].is_lost);
  EXPECT_FALSE(totals.devices[2].is_lost);
  EXPECT_EQ(totals.failed, 0U);
}

TEST_P(ModuleGraphOnTheDouble, ADeviceThatIsLostWhileAnEventWaitsForItIsTakenOut) {
  RoundTrips trips(30);
  DeviceDouble::hold(0);
  std::jthread other;
  trips.before = [&](EventView event) {
    if (event.device() != kGpu || other.joinable()) return;
    other = std::jthread([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      DeviceDouble::lose(0);
    });
  };
  const RunTotals totals = run(trips, 1, {.devices = {kGpu, Device::cpu()}, .in_flight = 3});
  trips.expect_all(30);
  EXPECT_TRUE(totals.devices[0].is_lost);
  EXPECT_EQ(totals.rerun, 1U);
}

TEST_P(ModuleGraphOnTheDouble, WithoutAnyDeviceLeftEventsFailAndTheRunSaysWhere) {
  RoundTrips trips(100);
  trips.before = [&](EventView event) {
    if (event.number() == 10) DeviceDouble::lose(0);
  };
  try {
    run(trips, 1, {.devices = {kGpu}, .in_flight = 2});
    FAIL() << "the run must end in an error";
  } catch (const DeviceLostError& error) {
    EXPECT_NE(std::string(error.what()).find("no device is left after event"), std::string::npos)
        << error.what();
  }
  EXPECT_GE(trips.failures.size(), 1U);
  std::vector<std::size_t> ended;
  for (const std::size_t result : trips.got) ended.push_back(result / 3);
  for (const EventFailure& failure : trips.failures) ended.push_back(failure.number);
  std::sort(ended.begin(), ended.end());
  std::vector<std::size_t> expected(ended.size());
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(ended, expected) << "each event that was taken is delivered or has failed, once";
}

TEST_P(ModuleGraphOnTheDouble, AnErrorWhileOtherQueuesWaitEndsItsEventAlone) {
  RoundTrips trips(50);
  trips.after = [](EventView event) {
    if (event.number() % 10 == 1) throw InputError("no");
  };
  const RunTotals totals = run(trips, 2, {.devices = {kGpu}, .in_flight = 4});
  EXPECT_EQ(totals.failed, 5U);
  EXPECT_EQ(totals.delivered, 45U);
}

TEST_P(ModuleGraphOnTheDouble, EventsArePlacedByTheirNumberWhereThatIsAskedFor) {
  RoundTrips trips(50);
  trips.before = [](EventView event) {
    EXPECT_EQ(event.device(), event.number() % 2 == 0 ? kGpu : kOther);
  };
  const RunTotals totals =
      run(trips, 2, {.devices = {kGpu, kOther}, .is_placed_by_number = true, .in_flight = 3});
  trips.expect_all(50);
  EXPECT_EQ(totals.devices[0].events, 25U);
}

INSTANTIATE_TEST_SUITE_P(Waits, ModuleGraphOnTheDouble,
                         testing::Values("polling", "callback", "threads", "blocking"),
                         [](const auto& way) { return std::string(way.param); });

TEST(ModuleGraphOnTheDoubleWithoutMemory, AnEventWhoseWaitCannotBeEnqueuedFails) {
  DeviceDouble::reset();
  RoundTrips trips(3);
  DeviceDouble::take_host_memory();
  const auto callback = wait_by_callback();
  const RunTotals totals = in_arena(1, [&] {
    return trips.graph.run({.devices = {kGpu}, .in_flight = 1, .waiting = callback.get()});
  });
  EXPECT_EQ(totals.failed, 3U);
  DeviceDouble::reset();
}

TEST(ModuleGraphOnTheDoubleStart, MakesWhatTwoDevicesNeedAtTheSameTime) {
  DeviceDouble::reset();
  std::atomic<int> begun = 0;
  std::atomic<bool> met = true;
  ModuleGraph graph;
  const auto number = graph.data<std::size_t>("number");
  const auto place = graph.data<int>("place", [&](const Queue&) {
    ++begun;
    for (int turn = 0; begun < 2; ++turn) {
      if (turn == 5000) met = false;
      if (!met) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return 0;
  });
  graph.source(writes(number), [](EventView event) { return event.number() < 10; });
  graph.module("work", reads(number), writes(place), [](EventView) {});
  const RunTotals totals = in_arena(2, [&] {
    return graph.run({.devices = {kGpu, kOther}, .in_flight = 1});
  });
  EXPECT_TRUE(met);
  EXPECT_EQ(totals.delivered, 10U);
  DeviceDouble::reset();
}

TEST(Waiting, ByThreadsNeedsOne) { EXPECT_THROW(wait_by_threads(0), ConfigError); }

}  // namespace
}  // namespace tensoa::sched
