// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Batches whose work is on a simulated GPU: the task that runs one is suspended until it is done.

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "sched/event_sources.hpp"
#include "support/device_double.hpp"
#include "tensoa/sched/batcher.hpp"
#include "tensoa/sched/module_graph.hpp"
#include "tensoa/soa/fields.hpp"
#include "tensoa/soa/joined.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa::sched {
namespace {

using namespace std::chrono_literals;

template <template <class> class F>
struct Points {
  F<float> x, y, z;
};

struct Rows {
  const Queue* queue;
  ConstView<Points> points;
};

TEST(BatcherOfAGpu, HasTheRowsOfEveryEvent) {
  test::DeviceDouble::reset();
  std::jthread other([](const std::stop_token& is_over) {
    while (!is_over.stop_requested()) {
      test::DeviceDouble::hold(0);
      std::this_thread::sleep_for(20us);
      test::DeviceDouble::let_go(0);
    }
  });
  constexpr std::size_t kEvents = 2'000;
  constexpr std::size_t kInFlight = 16;
  constexpr std::size_t kRows = 3;
  const Device gpu = Device::cuda(0);
  for (const std::size_t items : {std::size_t{1}, kInFlight}) {
    PortableCollection<Points> points(kInFlight * kRows, gpu);
    Batcher<Rows> batcher({.items = items, .latency = 200us},
                          [&](std::span<Rows* const> batch) -> Task {
                            const Queue queue = *batch.front()->queue;
                            std::vector<ConstView<Points>> views;
                            for (const Rows* rows : batch) views.push_back(rows->points);
                            for (const ConstView<Points>& view : views) {
                              if (view.size() != kRows) throw EngineError("a view of other rows");
                            }
                            co_await done(queue);
                          });
    ModuleGraph graph;
    const auto number = graph.data<std::size_t>("number");
    graph.source(writes(number), [=](EventView event) {
      event.write(number) = event.number();
      return event.number() < kEvents;
    });
    const auto is_done = graph.data<bool>("done");
    graph.module("infer", reads(number), writes(is_done), [&, is_done](EventView event) -> Task {
      Rows mine{&event.queue(), slice(points.const_view(), event.slot() * kRows, kRows)};
      co_await batcher.join(mine, kRows);
      event.write(is_done) = true;
    });
    const RunTotals totals =
        test::in_arena(2, [&] { return graph.run({.devices = {gpu}, .in_flight = kInFlight}); });
    EXPECT_EQ(totals.delivered, kEvents);
    EXPECT_EQ(totals.failed, 0U);
    EXPECT_EQ(batcher.counts().items, kEvents);
  }
}

}  // namespace
}  // namespace tensoa::sched
