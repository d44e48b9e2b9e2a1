// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/gpu_probe.hpp"
#include "bench/harness.hpp"
#include "bench/suites/suites.hpp"
#include "tensoa/sched/module_graph.hpp"
#include "tensoa/sched/waiting.hpp"

namespace tensoa::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using sched::EventView;

constexpr auto kWindow = 300ms;  // of one run
constexpr std::size_t kMostEvents = 1'000'000;

/// Keeps a core busy. Counts, not looks at the clock: a thread that loses its core has the work left.
class BusyLoop {
 public:
  BusyLoop() {
    constexpr std::size_t kTurns = 20'000'000;
    double best = 0;
    for (int run = 0; run < 5; ++run) {
      const double begin = thread_clock();
      turn(kTurns);
      best = std::max(best, kTurns / (thread_clock() - begin));
    }
    turns_per_us_ = best;
  }

  void run(std::chrono::nanoseconds time) const {
    turn(static_cast<std::size_t>(turns_per_us_ * static_cast<double>(time.count()) / 1000));
  }

 private:
  static void turn(std::size_t turns) {
    for (std::size_t i = 0; i < turns; ++i) __asm__ volatile("" : "+r"(i));
  }
  double turns_per_us_ = 0;
};

struct Measured {
  double us_per_event = 0;
  double cpu_us_per_event = 0;
  LatencyHistogram latency;
};

/// The work of one event, and its device.
struct Load {
  int modules = 1;
  std::chrono::nanoseconds cpu{0};  ///< of each module
  std::chrono::nanoseconds gpu{0};  ///< of each module; then the module waits for it
  std::vector<Device> devices = {Device::cpu()};
};

/// Runs events for a while. @param blocks modules wait with their thread
Measured run_events_of(const Load& load, int threads, std::size_t in_flight, bool blocks,
                       sched::Waiting* waiting, const BusyLoop& loop, const BusyKernel* kernel) {
  sched::ModuleGraph graph;
  const auto number = graph.data<std::size_t>("number");
  std::vector<sched::Datum<std::size_t>> data{number};
  Clock::time_point end;
  graph.source(writes(number), [&](EventView event) {
    event.write(number) = event.number();
    return event.number() < kMostEvents && Clock::now() < end;
  });
  for (int module = 0; module < load.modules; ++module) {
    const auto from = data.back();
    const auto to = graph.data<std::size_t>("after " + std::to_string(module));
    data.push_back(to);
    const auto work = [&load, &loop, kernel, from, to](EventView event) {
      if (load.cpu > 0ns) loop.run(load.cpu);
      if (load.gpu > 0ns) kernel->enqueue(event.queue(), load.gpu);
      event.write(to) = event.read(from) + 1;
    };
    const std::string name = "module " + std::to_string(module);
    if (load.gpu == 0ns) {
      graph.module(name, reads(from), writes(to), work);
    } else if (blocks) {
      graph.module(name, reads(from), writes(to), [work](EventView event) {
        work(event);
        event.queue().wait();
      });
    } else {
      graph.module(name, reads(from), writes(to), work, [](EventView) {});
    }
  }
  std::size_t sum = 0;
  graph.sink("sum", reads(data.back()), sched::Order::kInput,
             [&](EventView event) { sum += event.read(data.back()); });
  const tbb::global_control enough(tbb::global_control::max_allowed_parallelism,
                                   static_cast<std::size_t>(threads));
  tbb::task_arena arena(threads);
  return arena.execute([&] {
    const double cpu = process_clock();
    const Clock::time_point begin = Clock::now();
    end = begin + kWindow;
    const sched::RunTotals totals =
        graph.run({.devices = load.devices, .in_flight = in_flight, .waiting = waiting});
    const auto events = static_cast<double>(totals.delivered);
    const std::chrono::duration<double, std::micro> wall = Clock::now() - begin;
    return Measured{wall.count() / events, (process_clock() - cpu) / events, totals.latency};
  });
}

/// A way to run events, in all repeats.
struct Way {
  std::string name;
  bool blocks = false;
  std::size_t in_flight_of_thread = 2;
  std::unique_ptr<sched::Waiting> waiting;
  std::vector<Measured> runs;
};

ResultRow row_of(const Way& way, const Load& load, int threads, const std::string& stage) {
  ResultRow row;
  row.variant = way.name;
  row.stage = stage;
  for (const Device device : load.devices) {
    row.device += (row.device.empty() ? "" : ",") + to_string(device);
  }
  row.n = static_cast<std::size_t>(load.modules);
  row.threads = threads;
  std::vector<double> times;
  std::vector<double> cpu;
  LatencyHistogram latency;
  for (const Measured& run : way.runs) {
    times.push_back(run.us_per_event);
    cpu.push_back(run.cpu_us_per_event);
    latency += run.latency;
  }
  const auto microseconds = [&](double share) {
    return static_cast<double>(latency.percentile(share).count()) / 1000;
  };
  row.timing = summarize(times);
  row.more["cpu_us_per_event"] = summarize(cpu).median_us;
  row.more["latency_p50_us"] = microseconds(0.5);
  row.more["latency_p99_us"] = microseconds(0.99);
  row.more["latency_p999_us"] = microseconds(0.999);
  return row;
}

/// Runs all ways in turns, in both orders.
void run_ways(std::vector<Way>& ways, const Load& load, int threads, int repeats,
              const BusyLoop& loop, const BusyKernel* kernel) {
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (Way& way : ways) {
      way.runs.push_back(run_events_of(load, threads,
                                       way.in_flight_of_thread * static_cast<std::size_t>(threads),
                                       way.blocks, way.waiting.get(), loop, kernel));
    }
    std::ranges::reverse(ways);
  }
  if (repeats % 2 == 1) std::ranges::reverse(ways);
}

void measure_cpu(std::vector<ResultRow>& rows, const BenchOptions& options, const BusyLoop& loop) {
  for (const int threads : options.threads) {
    for (const int modules : {1, 4, 16}) {
      for (const auto cpu : {0us, 100us}) {
        const Load load{.modules = modules, .cpu = cpu};
        std::vector<Way> ways(1);
        ways[0].name = "modules";
        run_ways(ways, load, threads, options.repeats, loop, nullptr);
        ResultRow row = row_of(ways[0], load, threads, cpu == 0us ? "empty" : "cpu_100us");
        const double of_module = row.timing->median_us * threads / modules;
        row.more["us_per_event_and_module_and_thread"] = of_module;
        if (cpu > 0us) {
          // The same loops without a scheduler.
          std::vector<double> bare;
          for (int run = 0; run < 20 * options.repeats; ++run) {
            Stopwatch watch;
            loop.run(cpu);
            bare.push_back(watch.lap());
          }
          row.ratio = summarize(bare).median_us / of_module;
          row.baseline = "one_thread_times_threads";
        }
        rows.push_back(std::move(row));
      }
    }
  }
}

void measure_gpu(std::vector<ResultRow>& rows, const BenchOptions& options, const BusyLoop& loop,
                 Device device) {
  const BusyKernel kernel;
  const auto measure = [&](const std::string& stage, const Load& load, int threads) {
    std::vector<Way> ways;
    const auto add = [&](const std::string& name, bool blocks, std::size_t in_flight,
                         std::unique_ptr<sched::Waiting> waiting) {
      ways.push_back({name, blocks, in_flight, std::move(waiting), {}});
    };
    add("blocking", true, 1, nullptr);
    for (const std::size_t in_flight : {std::size_t{1}, std::size_t{2}, std::size_t{4}}) {
      const std::string end = "_" + std::to_string(in_flight);
      add("stream_callback" + end, false, in_flight, sched::wait_by_callback());
      add("host_function" + end, false, in_flight, wait_by(HostFunction::kBlocking));
      if (auto spinning = wait_by(HostFunction::kSpinning)) {
        add("host_function_spinning" + end, false, in_flight, std::move(spinning));
      }
      add("polling" + end, false, in_flight, nullptr);
      add("threads" + end, false, in_flight,
          sched::wait_by_threads(static_cast<int>(in_flight) * threads));
    }
    run_ways(ways, load, threads, options.repeats, loop, &kernel);
    std::vector<ResultRow> of_ways;
    for (const Way& way : ways) {
      of_ways.push_back(row_of(way, load, threads, stage));
      of_ways.back().baseline = "blocking";
      of_ways.back().ratio = of_ways.front().timing->median_us / of_ways.back().timing->median_us;
    }
    rows.insert(rows.end(), of_ways.begin(), of_ways.end());
  };
  for (const int threads : options.threads) {
    for (const auto gpu : {50us, 500us, 5000us}) {
      measure("gpu_" + std::to_string(gpu.count()) + "us",
              {.modules = 1, .cpu = 10us, .gpu = gpu, .devices = {device}}, threads);
    }
  }
  measure("cpu_4ms_gpu_4ms", {.modules = 1, .cpu = 4ms, .gpu = 4ms, .devices = {device}}, 2);
}

/// One GPU and all from it on, in turns, with the same number of events in flight on each.
void measure_gpus(std::vector<ResultRow>& rows, const BenchOptions& options, const BusyLoop& loop,
                  Device device) {
  const BusyKernel kernel;
  std::vector<Device> all;
  for (int i = device.index; i < device_count(device.kind); ++i) all.push_back({device.kind, i});
  for (const int threads : options.threads) {
    for (const auto gpu : {100us, 5000us}) {
      std::vector<Way> one(1);
      one[0].name = "polling_2";
      std::vector<Way> several(1);
      several[0].name = "polling_2";
      Load load{.modules = 1, .cpu = 10us, .gpu = gpu, .devices = {device}};
      Load of_all = load;
      of_all.devices = all;
      for (int repeat = 0; repeat < options.repeats; ++repeat) {
        run_ways(one, load, threads, 1, loop, &kernel);
        run_ways(several, of_all, threads, 1, loop, &kernel);
      }
      const std::string stage = "gpus_" + std::to_string(gpu.count()) + "us";
      rows.push_back(row_of(one[0], load, threads, stage));
      rows.push_back(row_of(several[0], of_all, threads, stage));
      rows.back().baseline = "one_gpu";
      rows.back().ratio = rows[rows.size() - 2].timing->median_us / rows.back().timing->median_us;
    }
  }
}

}  // namespace

std::vector<ResultRow> bench_pipeline(const BenchOptions& options) {
  if (!options.inputs.empty()) return bench_reading(options);
  if (!options.packages.empty()) return bench_batching(options);
  const BusyLoop loop;
  std::vector<ResultRow> rows;
  const Device device = parse_device(options.device);
  if (options.on_all_gpus && !device.is_cpu()) {
    measure_gpus(rows, options, loop, device);
  } else if (device.is_cpu()) {
    measure_cpu(rows, options, loop);
  } else {
    measure_gpu(rows, options, loop, device);
  }
  return rows;
}

}  // namespace tensoa::bench
