// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/harness.hpp"
#include "bench/suites/suites.hpp"
#include "bench/workloads.hpp"
#include "tensoa/sched/batcher.hpp"
#include "tensoa/sched/module_graph.hpp"
#include "tensoa/soa/joined.hpp"

namespace tensoa::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using sched::EventView;

constexpr auto kWindow = 300ms;  // of one run
constexpr std::size_t kInFlight = 16;
constexpr auto kLatency = 200us;

enum class Where { kAlone, kAdjacent, kApart };

using PointsView = ConstView<Points>;
using AnswersView = View<Answers>;

/// One event for the Batcher.
struct SmallEvent {
  const Queue* queue;
  PointsView points;
  AnswersView answers;
};

/// Calls for one batch at a time, with columns for events that lie apart.
class Calls {
 public:
  Calls(const Model<>& model, Device device, std::size_t rows)
      : model_(model),
        points_(rows, device),
        answers_(rows, device),
        plan_(model.plan(mlp_metadata(points_.const_view(), answers_.view()))) {}

  sched::Task infer(std::span<SmallEvent* const> batch) {
    const Queue queue = *batch.front()->queue;
    std::vector<SmallEvent*> events(batch.begin(), batch.end());
    std::ranges::sort(events, {}, [](const SmallEvent* event) { return event->points.x.data(); });
    std::vector<PointsView> inputs;
    std::vector<AnswersView> outputs;
    for (const SmallEvent* event : events) {
      inputs.push_back(event->points);
      outputs.push_back(event->answers);
    }
    const auto points = joined(std::span<const PointsView>(inputs));
    const auto answers = joined(std::span<const AnswersView>(outputs));
    if (points && answers) {
      plan_.rebind(*points, *answers);
      model_.forward(queue, plan_);
    } else {
      gather(queue, inputs, outputs);
    }
    co_await sched::done(queue);
  }

 private:
  static void copy_column(const Queue& queue, const float* from, float* to, std::size_t n) {
    copy_bytes(queue, to, queue.device(), from, queue.device(), n * sizeof(float));
  }

  void gather(const Queue& queue, std::span<const PointsView> inputs,
              std::span<const AnswersView> outputs) {
    std::size_t rows = 0;
    const View<Points> to = points_.view();
    for (const PointsView& from : inputs) {
      copy_column(queue, from.x.data(), to.x.data() + rows, from.size());
      copy_column(queue, from.y.data(), to.y.data() + rows, from.size());
      copy_column(queue, from.z.data(), to.z.data() + rows, from.size());
      rows += from.size();
    }
    plan_.rebind(slice(points_.const_view(), 0, rows), slice(answers_.view(), 0, rows));
    model_.forward(queue, plan_);
    rows = 0;
    const View<Answers> from = answers_.view();
    for (const AnswersView& answer : outputs) {
      copy_column(queue, from.m.data() + rows, answer.m.data(), answer.size());
      copy_column(queue, from.n.data() + rows, answer.n.data(), answer.size());
      rows += answer.size();
    }
  }

  const Model<>& model_;
  PortableCollection<Points> points_;
  PortableCollection<Answers> answers_;
  Plan<Points, Answers> plan_;
};

struct BatchedRun {
  double us_per_event = 0;
  double events_per_call = 1;
  LatencyHistogram latency;
};

BatchedRun run_small_events(const Model<>& model, Device device, Where where, std::size_t rows,
                            int threads) {
  // Adjacent events are slices of one collection, the others have lines between them.
  const std::size_t pitch = where == Where::kApart ? rows + 64 : rows;
  const Queue zero_queue(device);
  PortableCollection<Points> points(kInFlight * pitch, device);
  PortableCollection<Answers> answers(kInFlight * pitch, device);
  zero_bytes(zero_queue, points.data(), points.bytes());
  zero_queue.wait();
  std::vector<std::unique_ptr<Calls>> calls;  // one for each batch under way: at most one an event
  for (std::size_t i = 0; i < kInFlight; ++i) {
    calls.push_back(std::make_unique<Calls>(model, device, kInFlight * rows));
  }
  const std::size_t most = where == Where::kAlone ? 1 : kInFlight;
  sched::Batcher<SmallEvent> batcher({.rows = most * rows, .items = most, .latency = kLatency},
                                     [&](std::span<SmallEvent* const> batch) {
                                       const auto slot =
                                           static_cast<std::size_t>(batch.front()->points.x.data() -
                                                                    points.const_view().x.data()) /
                                           pitch;
                                       return calls[slot]->infer(batch);
                                     });
  sched::ModuleGraph graph;
  const auto number = graph.data<std::size_t>("number");
  Clock::time_point end;
  graph.source(writes(number), [&](EventView event) {
    event.write(number) = event.number();
    return Clock::now() < end;
  });
  const auto done = graph.data<bool>("done");
  graph.module("infer", reads(number), writes(done), [&, done](EventView event) -> sched::Task {
    SmallEvent mine{&event.queue(), slice(points.const_view(), event.slot() * pitch, rows),
                    slice(answers.view(), event.slot() * pitch, rows)};
    co_await batcher.join(mine, rows);
    event.write(done) = true;
  });
  const tbb::global_control enough(tbb::global_control::max_allowed_parallelism,
                                   static_cast<std::size_t>(threads));
  tbb::task_arena arena(threads);
  return arena.execute([&] {
    const Clock::time_point begin = Clock::now();
    end = begin + kWindow;
    const sched::RunTotals totals = graph.run({.devices = {device}, .in_flight = kInFlight});
    const std::chrono::duration<double, std::micro> wall = Clock::now() - begin;
    const auto counts = batcher.counts();
    return BatchedRun{wall.count() / static_cast<double>(totals.delivered + totals.failed),
                      static_cast<double>(counts.items) / static_cast<double>(counts.batches),
                      totals.latency};
  });
}

}  // namespace

std::vector<ResultRow> bench_batching(const BenchOptions& options) {
  const Device device = parse_device(options.device);
  const Model<> model(fused_package(options.packages, MlpCase::kModel, device));
  struct Kind {
    const char* name;
    Where where;
  };
  constexpr Kind kKinds[] = {{"alone", Where::kAlone},
                             {"batched_adjacent", Where::kAdjacent},
                             {"batched_gathered", Where::kApart}};
  std::vector<ResultRow> rows;
  for (const int threads : options.threads) {
    for (const std::size_t n : {1U, 16U, 256U}) {
      const std::size_t first = rows.size();
      std::vector<std::vector<BatchedRun>> runs(std::size(kKinds));
      for (int repeat = 0; repeat < options.repeats; ++repeat) {
        for (std::size_t kind = 0; kind < runs.size(); ++kind) {
          runs[kind].push_back(run_small_events(model, device, kKinds[kind].where, n, threads));
        }
      }
      for (std::size_t kind = 0; kind < runs.size(); ++kind) {
        std::vector<double> times;
        LatencyHistogram latency;
        for (const BatchedRun& run : runs[kind]) {
          times.push_back(run.us_per_event);
          latency += run.latency;
        }
        ResultRow row;
        row.model = MlpCase::kModel;
        row.variant = kKinds[kind].name;
        row.stage = "batching";
        row.device = to_string(device);
        row.n = n;
        row.threads = threads;
        row.timing = summarize(times);
        row.baseline = kind == 0 ? "" : "alone";
        row.more["events_per_call"] = runs[kind].back().events_per_call;
        row.more["latency_p50_us"] = 1e-3 * static_cast<double>(latency.percentile(0.5).count());
        row.more["latency_p99_us"] = 1e-3 * static_cast<double>(latency.percentile(0.99).count());
        rows.push_back(std::move(row));
      }
      for (std::size_t i = first; i < rows.size(); ++i) {
        if (i > first) rows[i].ratio = rows[first].timing->median_us / rows[i].timing->median_us;
      }
    }
  }
  return rows;
}

}  // namespace tensoa::bench
