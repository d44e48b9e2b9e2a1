// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// The run that was slower on two GPUs than on one: 16 000 events of `tensoa track` on H100s, of which each is read, enqueued in
// two parts, and counted. In slow motion, so that a machine of few cores plays one of many: all times of an event are twenty
// times as long and there are a twentieth of the events, so that the run takes as long as that on the GPUs.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <thread>
#include <vector>

#include "sched/event_sources.hpp"
#include "support/device_double.hpp"
#include "tensoa/core/driver_calls.hpp"
#include "tensoa/sched/module_graph.hpp"

namespace tensoa::sched {
namespace {

using namespace std::chrono_literals;
using test::DeviceDouble;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kSlower = 20;
constexpr std::size_t kEvents = 800;

// Of an event, on a thread and on the GPU: traces in benchmarks/results/track-two-gpus-h100.txt.
constexpr auto kRead = kSlower * 150us;
constexpr auto kCount = kSlower * 260us;
constexpr auto kCall = kSlower * 3us;
constexpr auto kQuery = 1us;             ///< questions are not asked slower
constexpr auto kPart = kSlower * 262us;  ///< on the GPU, which does two at a time
constexpr int kCallsOfPart = 18;
// Not slower, since their number is the same: the first use of a GPU, and what an event in flight needs there.
constexpr auto kContext = 165ms;
constexpr auto kPlace = 7ms;

/// A place on a device; making it takes a while.
struct Pipeline {
  Pipeline(const Queue& queue, std::chrono::milliseconds on_cpu) : queue_(queue), on_cpu_(on_cpu) {
    std::this_thread::sleep_for(kPlace);
  }

  void enqueue() const {
    if (queue_.device().is_cpu()) {
      std::this_thread::sleep_for(kSlower * on_cpu_);
      return;
    }
    DeviceDouble::enqueue(queue_.device().index, queue_.native_handle(), kPart, kCallsOfPart);
  }

  Queue queue_;
  std::chrono::milliseconds on_cpu_;  ///< of an event
};

struct Figures {
  double seconds = 0;
  RunTotals totals;
};

Figures run(const std::vector<Device>& devices, int threads, std::chrono::milliseconds on_cpu) {
  DeviceDouble::reset();
  DeviceDouble::take_time({.context = kContext, .query = kQuery, .call = kCall});
  ModuleGraph graph;
  const auto number = graph.data<std::size_t>("number");
  const auto read = graph.data<std::size_t>("read");
  const auto outcome = graph.data<std::size_t>("outcome");
  const auto pipeline =
      graph.data<Pipeline>("pipeline", [=](const Queue& queue) { return Pipeline(queue, on_cpu); });
  graph.source(writes(number), [&](EventView event) {
    event.write(number) = event.number();
    return event.number() < kEvents;
  });
  graph.module("read", reads(number), writes(read), [=](EventView event) {
    std::this_thread::sleep_for(kRead);
    event.write(read) = event.read(number);
  });
  graph.module("track", reads(read), writes(pipeline, outcome), [=](EventView event) -> Task {
    event.read(pipeline).enqueue();
    co_await done(event.queue());
    if (!event.device().is_cpu()) {
      event.read(pipeline).enqueue();
      co_await done(event.queue());
    }
    std::this_thread::sleep_for(kCount);
    event.write(outcome) = event.read(read);
  });
  std::vector<std::size_t> got;
  graph.sink("write", reads(outcome), Order::kInput,
             [&](EventView event) { got.push_back(event.read(outcome)); });
  Figures figures;
  const auto begin = Clock::now();
  figures.totals = test::in_arena(threads, [&] {
    return graph.run({.devices = devices,
                      .in_flight = std::min<std::size_t>(16, 2 * static_cast<std::size_t>(threads)),
                      .ended = 128 / kSlower});
  });
  figures.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  DeviceDouble::reset();
  EXPECT_EQ(got.size(), kEvents);
  EXPECT_TRUE(std::ranges::is_sorted(got));
  return figures;
}

/// Events per second between the first place on all devices and the end; and of the whole run.
struct Rates {
  double steady = 0;
  double whole = 0;
  Figures figures = {};
};

Rates rates_of(const std::vector<Device>& devices, int threads,
               std::chrono::milliseconds on_cpu = 0ms) {
  const Figures figures = run(devices, threads, on_cpu);
  double ready = 0;
  for (const auto& device : figures.totals.devices) ready = std::max(ready, device.ready_seconds);
  const double events = kSlower * kEvents;
  const Rates rates{events / (figures.seconds - ready), events / figures.seconds, figures};
  std::printf("%zu devices, %2d threads: %6.0f events/s, %6.0f after %.2f s of start-up;",
              devices.size(), threads, rates.whole, rates.steady, ready);
  for (const auto& device : figures.totals.devices) {
    std::printf(" %s %zu", to_string(device.device).c_str(), device.events);
  }
  std::printf("; %zu thread moves, %zu lock waits\n", figures.totals.thread_moves,
              figures.totals.lock_waits);
  return rates;
}

const std::vector<Device> kOne{Device::cuda(0)};
const std::vector<Device> kTwo{Device::cuda(0), Device::cuda(1)};

// Wide bounds: the clock decides, and a machine that runs other programs, too, wakes sleeping threads late. What was measured
// is in benchmarks/results/track-two-gpus-h100.txt.

TEST(ScalingOnTheDouble, TwoGpusStartAtTheSameTimeShareEventsAndAreFasterThanOne) {
  constexpr int kThreads = 16;
  const Rates one = rates_of(kOne, kThreads);
  const Rates two = rates_of(kTwo, kThreads);
  EXPECT_GT(two.steady, one.steady);
  const double first_ready = std::chrono::duration<double>(kContext + kPlace).count();
  for (const auto& device : two.figures.totals.devices) {
    EXPECT_LT(device.ready_seconds, 1.8 * first_ready) << "one after the other it is twice that";
    EXPECT_GT(device.events, kEvents / 4);
  }
}

TEST(ScalingOnTheDouble, TheCpuHelpsAGpuWhereItIsFastAndCostsOneEventWhereItIsSlow) {
  constexpr int kThreads = 8;
  const Rates gpu = rates_of(kOne, kThreads);
  const Rates fast = rates_of({Device::cpu(), Device::cuda(0)}, kThreads, 1ms);
  EXPECT_GT(fast.whole, gpu.whole);
  EXPECT_GT(fast.figures.totals.devices[0].events, kEvents / 10);
  const Rates slow = rates_of({Device::cpu(), Device::cuda(0)}, kThreads, 40ms);
  EXPECT_LE(slow.figures.totals.devices[0].events, 2U);
  const double one_event = std::chrono::duration<double>(kSlower * 40ms).count();
  EXPECT_LT(slow.figures.seconds, gpu.figures.seconds + 1.5 * one_event);
}

}  // namespace
}  // namespace tensoa::sched
