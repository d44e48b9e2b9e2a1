// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <filesystem>

#include "tensoa/track/event_source.hpp"
#include "tensoa/track/generator.hpp"
#include "tensoa/track/graph_builder.hpp"

namespace tensoa::track {
namespace {

void build(benchmark::State& state, Event event) {
  GraphBuilder builder;
  std::size_t edges = 0;
  for (auto _ : state) {
    edges = builder.build(event.hits.view()).size();
    benchmark::ClobberMemory();
  }
  const auto per_second = [&](std::size_t n) {
    return benchmark::Counter(static_cast<double>(n),
                              benchmark::Counter::kIsIterationInvariantRate);
  };
  state.counters["hits"] = static_cast<double>(event.hits.size());
  state.counters["edges"] = static_cast<double>(edges);
  state.counters["edges/s"] = per_second(edges);
  state.counters["events/s"] = per_second(1);
}

// Larger events have more edges a hit: the time per edge is what should stay.
void generated(benchmark::State& state) {
  build(state, generate({.particles = state.range(0)}, 0));
}
BENCHMARK(generated)->RangeMultiplier(2)->Range(100, 6400)->Unit(benchmark::kMillisecond);

void from_file(benchmark::State& state, const char* file) {
  const std::filesystem::path path = std::filesystem::path(TENSOA_SHARED_DATA) / file;
  if (!std::filesystem::exists(path)) return state.SkipWithError("no shared data");
  build(state, read_event(path));
}
BENCHMARK_CAPTURE(from_file, trackml, "trackml/event000000001-hits.csv.gz")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(from_file, lrt_largest, "lrt/evt_71.csv.gz")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tensoa::track
