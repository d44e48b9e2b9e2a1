// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/sched/metrics.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/sched/module_graph.hpp"

namespace tensoa::sched {
namespace {

TEST(Metrics, OfARunCountItsEventsFailuresAndLatencies) {
  ModuleGraph graph;
  const auto number = graph.data<int>("number");
  graph.source(writes(number), [next = 0, number](EventView event) mutable {
    event.write(number) = next;
    return next++ < 7;
  });
  graph.module("work", reads(number), {}, [number](EventView event) {
    if (event.read(number) == 3) throw InputError("event 3 is bad");
  });
  const std::string text = prometheus_text(graph.run());
  EXPECT_NE(text.find("\ntensoa_events_total{device=\"cpu\"} 7\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\ntensoa_events_failed_total 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\ntensoa_events_rerun_total 0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\ntensoa_device_lost{device=\"cpu\"} 0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\ntensoa_event_latency_seconds_count 7\n"), std::string::npos) << text;
}

TEST(Metrics, SayWhatMemoryIsHeldByDeviceAndPurpose) {
  const std::string line = "\ntensoa_memory_bytes{device=\"cpu\",purpose=\"collections\"} ";
  RunTotals totals;
  totals.devices = {{.device = Device::cpu()}};
  const auto held = [&] {
    const std::string text = prometheus_text(totals);
    const std::size_t at = text.find(line);
    EXPECT_NE(at, std::string::npos) << text;
    return std::stod(text.substr(at + line.size()));
  };
  const double before = held();
  const Buffer buffer(Device::cpu(), 1 << 20);
  EXPECT_EQ(held() - before, 1 << 20);
}

}  // namespace
}  // namespace tensoa::sched
