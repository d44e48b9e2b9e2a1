// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// A kernel that crashes on one of two GPUs in mid-run. A separate program: CUDA then fails on both for the rest of the process,
// and so the CPU does the events that they had, and those that follow.

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "sched/event_sources.hpp"
#include "tensoa/core/device_guard.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/sched/module_graph.hpp"
#include "tensoa/sched/waiting.hpp"

namespace tensoa::sched {
namespace {

__global__ void triple(std::size_t* number) { *number *= 3; }
__global__ void end_context() { __trap(); }

TEST(ModuleGraphOnTwoGpus, EventsOfGpusThatAreLostInMidRunRunOnTheCpuOnce) {
  constexpr std::size_t kEvents = 2'000;
  constexpr std::size_t kLast = 700;  // that cuda:0 may do
  if (device_count(DeviceKind::kCuda) < 2) GTEST_SKIP() << "fewer than two GPUs";
  ModuleGraph graph;
  const auto number = graph.data<std::size_t>("number");
  const auto memory = graph.data<Buffer>(
      "memory", [](const Queue& queue) { return Buffer(queue.device(), sizeof(std::size_t)); });
  const auto answer = graph.data<std::size_t>("answer");
  graph.source(writes(number), [&](EventView event) {
    event.write(number) = event.number();
    return event.number() < kEvents;
  });
  graph.module("triple", reads(number), writes(memory, answer), [=](EventView event) -> Task {
    const Queue& queue = event.queue();
    if (event.device().is_cpu()) {
      event.write(answer) = 3 * event.read(number);
      co_return;
    }
    auto* const there = reinterpret_cast<std::size_t*>(event.write(memory).data());
    copy_bytes(queue, there, event.device(), &event.read(number), Device::cpu(),
               sizeof(std::size_t));
    {
      const DeviceGuard current(queue);
      const auto stream = static_cast<cudaStream_t>(queue.native_handle());
      if (event.device() == Device::cuda(0) && event.read(number) >= kLast) {
        end_context<<<1, 1, 0, stream>>>();
      }
      triple<<<1, 1, 0, stream>>>(there);
    }
    copy_bytes(queue, &event.write(answer), Device::cpu(), there, event.device(),
               sizeof(std::size_t));
    co_await done(queue);
  });
  std::vector<std::size_t> got;
  std::vector<std::string> failures;
  graph.sink(
      "collect", reads(answer), Order::kInput,
      [&](EventView event) { got.push_back(event.read(answer)); },
      [&](EventView, const EventFailure& failure) { failures.push_back(failure.message); });
  const RunTotals totals = test::in_arena(4, [&] {
    return graph.run({.devices = {Device::cuda(0), Device::cuda(1), Device::cpu()},
                      .in_flight = 8,
                      .ended = 32});
  });
  EXPECT_EQ(failures, std::vector<std::string>());
  ASSERT_EQ(got.size(), kEvents);
  for (std::size_t event = 0; event < kEvents; ++event) ASSERT_EQ(got[event], 3 * event);
  EXPECT_TRUE(totals.devices[0].is_lost);
  EXPECT_TRUE(totals.devices[1].is_lost);
  EXPECT_FALSE(totals.devices[2].is_lost);
  EXPECT_GT(totals.rerun, 0U);
  EXPECT_EQ(totals.delivered, kEvents);
}

}  // namespace
}  // namespace tensoa::sched
