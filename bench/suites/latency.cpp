// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/gpu_probe.hpp"
#include "bench/suites/suites.hpp"
#include "cli/generated_columns.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/any_model.hpp"
#include "tensoa/package/inspect.hpp"
#include "tensoa/package/options.hpp"

namespace tensoa::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBuffers = 256;  // that events go through in turns
constexpr float kTrigger =
    12.5F;  // us, of the first trigger level of CMS at HL-LHC, doi 10.22323/1.450.0113

/// The inputs that a detector writes, and the outputs of the model: made once, bound once.
struct EventBuffer {
  EventBuffer(const AnyModel& model, const package::ModelDescription& description, std::size_t rows,
              std::uint64_t event, const Queue& queue)
      : columns(description, rows, 0, 1, queue, event), plan(model.plan(columns.binding())) {}

  cli::GeneratedColumns columns;
  Planned plan;
};

/// The time from before each call until its answer is there, of all events, after 1 % more that warm up.
std::vector<float> latencies(const std::function<void(std::size_t event)>& call,
                             std::size_t events) {
  std::vector<float> all(events);
  for (std::size_t event = 0; event < events / 100 + kBuffers; ++event) call(event);
  for (std::size_t event = 0; event < events; ++event) {
    const Clock::time_point begin = Clock::now();
    call(event);
    all[event] = std::chrono::duration<float, std::micro>(Clock::now() - begin).count();
  }
  return all;
}

ResultRow row_of(std::vector<float> all, const Queue& queue, std::size_t rows) {
  std::ranges::sort(all);
  const auto at = [&](double share) {
    return static_cast<double>(
        all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))]);
  };
  const auto late = all.end() - std::ranges::upper_bound(all, kTrigger);
  ResultRow row;
  row.device = to_string(queue.device());
  row.n = rows;
  row.timing = Timing{at(0.5), all.front(), all.back()};
  row.more["p99_us"] = at(0.99);
  row.more["p99.9_us"] = at(0.999);
  row.more["p99.99_us"] = at(0.9999);
  row.more["jitter_us"] = at(0.999) - at(0.5);
  row.more["later_than_12.5_us"] = static_cast<double>(late) / static_cast<double>(all.size());
  return row;
}

/// A lower limit for the time of a call: reading the clock twice, on a GPU with a kernel that does nothing between.
ResultRow limit_of(const Queue& queue, std::size_t events) {
  if (queue.device().is_cpu()) {
    ResultRow row = row_of(latencies([](std::size_t) {}, events), queue, 0);
    row.variant = "clock";
    return row;
  }
  const auto launch = EmptyKernels({GpuLaunch{}}).call(queue);
  ResultRow row = row_of(latencies(
                             [&](std::size_t) {
                               launch();
                               queue.wait();
                             },
                             events),
                         queue, 0);
  row.variant = "empty_kernel";
  return row;
}

ResultRow measure(const std::string& file, const package::ModelDescription& description,
                  const ModelOptions& options, std::size_t rows, const Queue& queue,
                  std::size_t events) {
  const AnyModel model(file, CompilationType::kAny, options);
  std::deque<EventBuffer> buffers;
  for (std::size_t i = 0; i < kBuffers; ++i) {
    buffers.emplace_back(model, description, rows, i, queue);
  }
  model.warm_up(queue, buffers.front().plan);
  const auto call = [&](std::size_t event) {
    model.run(queue, buffers[event % kBuffers].plan);
    queue.wait();
  };
  ResultRow row = row_of(latencies(call, events), queue, rows);
  row.model = std::filesystem::path(file).stem().string();
  return row;
}

}  // namespace

std::vector<ResultRow> bench_latency(const BenchOptions& options) {
  const Queue queue(parse_device(options.device));
  std::vector<ResultRow> rows;
  rows.push_back(limit_of(queue, options.events));
  for (const std::string& file : options.inputs) {
    const package::ModelDescription description = package::inspect(file);
    if (!description.binding) {
      throw InputError(
          "latency: " + file +
          ": does not state which columns it reads; expected a package or a tree file");
    }
    for (const std::size_t n : options.rows) {
      rows.push_back(measure(file, description, {}, n, queue, options.events));
      rows.back().variant = "plan";
      if (queue.device().is_cpu() || description.compilation != CompilationType::kAheadOfTime ||
          description.targets.front().programs.empty()) {
        continue;
      }
      rows.push_back(measure(file, description, package::Options{.cuda_graphs = true}, n, queue,
                             options.events));
      rows.back().variant = "plan_graph";
    }
  }
  return rows;
}

}  // namespace tensoa::bench
