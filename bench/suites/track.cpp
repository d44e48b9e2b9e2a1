// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/harness.hpp"
#include "bench/suites/suites.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/sched/event_pipeline.hpp"
#include "tensoa/sched/wait.hpp"
#include "tensoa/track/pipeline.hpp"

namespace tensoa::bench {
namespace {

constexpr int kWarmUps = 2;
constexpr double kShortestUs = 100'000;  // of a batch of events

constexpr std::size_t kNumbersOfGpus[] = {1, 2, 4, 8};

/// A way to process events.
struct Way {
  std::string name;
  std::string baseline;
  track::PipelineOptions options;
  int events_per_thread = 0;  ///< that a thread works on in turns; 0: one, and it blocks
};

std::vector<Way> ways_of(const BenchOptions& options, const track::GraphRules& rules,
                         std::size_t most_edges) {
  std::vector<Way> ways{{"host_graph", "", {.graph = rules, .graph_on_host = true}},
                        {"device_graph", "host_graph", {.graph = rules}}};
  for (const int events : options.events_per_thread) {
    ways.push_back({"suspended_" + std::to_string(events),
                    "device_graph",
                    {.graph = rules, .wait = sched::wait_suspended},
                    events});
  }
  for (const double room : options.edge_room) {
    const auto rows = static_cast<std::size_t>(std::ceil(room * static_cast<double>(most_edges)));
    for (const bool as_graph : {false, true}) {
      const std::string name = fmt::format("{}_{:g}", as_graph ? "cuda_graph" : "masked", room);
      track::PipelineOptions masked{.graph = rules, .edge_capacity = rows, .cuda_graph = as_graph};
      ways.push_back({name, "device_graph", masked});
      masked.wait = sched::wait_suspended;
      for (const int events : options.events_per_thread) {
        ways.push_back({name + "_" + std::to_string(events), "suspended_" + std::to_string(events),
                        masked, events});
      }
    }
  }
  return ways;
}

/// One event, again and again, on one or several GPUs.
class Run {
 public:
  /// @param threads on each device
  Run(const Model<>& model, std::span<const Device> devices, const track::EventSource& source,
      const Way& way, int threads)
      : threads_(threads * static_cast<int>(devices.size())), blocks_(way.events_per_thread == 0) {
    for (int i = 0; i < threads_ * std::max(1, way.events_per_thread); ++i) {
      const Device device = devices[static_cast<std::size_t>(i) % devices.size()];
      lanes_.push_back(std::make_unique<Lane>(
          Lane{track::TrackPipeline(model, Queue(device), way.options), source.read()}));
    }
  }

  int threads() const { return threads_; }

  /// Each thread does `events` events.
  /// @return bytes that one event moved between host and device, and copied for the network
  std::size_t operator()(std::size_t events) {
    if (blocks_) {
      std::vector<std::future<void>> threads;
      threads.reserve(lanes_.size());
      for (const auto& lane : lanes_) {
        threads.push_back(std::async(std::launch::async, [&lane = *lane, events] {
          for (std::size_t i = 0; i < events; ++i) lane.process();
        }));
      }
      for (std::future<void>& thread : threads) thread.get();
    } else {
      const std::size_t all = events * static_cast<std::size_t>(threads_);
      // Of this run alone: the smallest number of all that live counts.
      const tbb::global_control enough(tbb::global_control::max_allowed_parallelism,
                                       static_cast<std::size_t>(threads_));
      arena_.execute([&] {
        return sched::run_events(
            [&, next = std::size_t{0}]() mutable {
              return next < all ? std::optional(next++) : std::nullopt;
            },
            [&](std::size_t, std::size_t slot) { return lanes_[slot]->process(); },
            [](std::size_t, const Result<std::size_t>& bytes) { static_cast<void>(bytes.value()); },
            {.in_flight = lanes_.size()});
      });
    }
    return lanes_.front()->bytes;
  }

 private:
  struct Lane {
    track::TrackPipeline pipeline;
    track::Event event;
    std::size_t bytes = 0;

    std::size_t process() {
      track::ProcessedEvent done = pipeline.process(std::move(event));
      event = std::move(done.event);
      const events::ScoreReport& moved = done.moved;
      bytes = moved.copies.bytes_in + moved.copies.bytes_out + moved.bytes_to_device +
              moved.bytes_to_host;
      return bytes;
    }
  };

  int threads_;
  bool blocks_;
  tbb::task_arena arena_{threads_};
  std::vector<std::unique_ptr<Lane>> lanes_;
};

/// The stages of one event, each with a wait at its end, and so longer than in a pipeline.
struct StageTimes {
  std::vector<double> graph, infer, tracks;
};

StageTimes time_on_host(const Model<>& model, const track::GraphRules& rules, const Queue& queue,
                        track::Event& event, int repeats) {
  track::GraphBuilder builder(rules);
  track::EdgeScorer scorer(model, queue);
  track::TrackFinder finder;
  StageTimes times;
  for (int i = 0; i < repeats + kWarmUps; ++i) {
    Stopwatch watch;
    PortableCollection<track::Edge>& edges = builder.build(event.hits.view());
    times.graph.push_back(watch.lap());
    scorer.score(event.hits, edges);
    times.infer.push_back(watch.lap());
    finder.find(event.hits.view(), edges.const_view());
    times.tracks.push_back(watch.lap());
  }
  return times;
}

StageTimes time_on_device(const Model<>& model, const track::GraphRules& rules, const Queue& queue,
                          track::Event& event, int repeats) {
  track::DeviceEvent on_device(queue, rules);
  track::EdgeScorer scorer(model, queue);
  StageTimes times;
  for (int i = 0; i < repeats + kWarmUps; ++i) {
    Stopwatch watch;
    on_device.build_graph(event.hits.const_view());
    queue.wait();
    times.graph.push_back(watch.lap());
    scorer.enqueue(on_device.hits(), on_device.edges());
    queue.wait();
    times.infer.push_back(watch.lap());
    on_device.find_tracks(event.hits.view());
    times.tracks.push_back(watch.lap());
  }
  return times;
}

void append_stages(std::vector<ResultRow>& rows, const ResultRow& base, const StageTimes& times) {
  const auto append = [&](const char* stage, const std::vector<double>& laps) {
    ResultRow row = base;
    row.stage = stage;
    row.timing = summarize({laps.begin() + kWarmUps, laps.end()});
    rows.push_back(row);
  };
  append("graph", times.graph);
  append("infer", times.infer);
  append("tracks", times.tracks);
}

Variant variant_of(const Way& way, Run& run) {
  Variant variant{way.name, [&run](std::size_t events) { return run(events); }, way.baseline};
  variant.parts = run.threads();
  return variant;
}

ResultRow row_of(const ResultRow& base, const Variant& variant, const std::string& stage,
                 const Run& run) {
  ResultRow row = base;
  row.variant = variant.name;
  row.baseline = variant.baseline;
  row.stage = stage;
  row.threads = run.threads();
  row.timing = summarize(variant.times);
  row.bytes_copied = variant.bytes_copied;
  return row;
}

/// Compares all ways on one GPU.
void append_totals(std::vector<ResultRow>& rows, const ResultRow& base, const Model<>& model,
                   Device device, const track::EventSource& source, const std::vector<Way>& ways,
                   int threads, int repeats) {
  std::deque<Run> runs;
  std::vector<Variant> variants;
  variants.reserve(ways.size());
  for (const Way& way : ways) {
    variants.push_back(
        variant_of(way, runs.emplace_back(model, std::span(&device, 1), source, way, threads)));
  }
  run_in_turns(variants, repeats, kShortestUs);
  const std::size_t first = rows.size();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    rows.push_back(row_of(base, variants[i], "total", runs[i]));
  }
  set_ratios(rows, first);
}

/// One way on 1, 2, 4 and 8 GPUs, against that multiple of one GPU.
void append_gpus(std::vector<ResultRow>& rows, const ResultRow& base, const Model<>& model,
                 std::span<const Device> devices, const track::EventSource& source, const Way& way,
                 int threads, int repeats) {
  std::deque<Run> runs;
  std::vector<Variant> variants;
  std::vector<std::size_t> numbers;
  for (const std::size_t gpus : kNumbersOfGpus) {
    if (gpus > devices.size()) continue;
    numbers.push_back(gpus);
    variants.push_back(
        variant_of(way, runs.emplace_back(model, devices.first(gpus), source, way, threads)));
  }
  run_in_turns(variants, repeats, kShortestUs);
  const double one_gpu_us = summarize(variants.front().times).median_us;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    ResultRow row = row_of(base, variants[i], "gpus", runs[i]);
    const double linear_us = one_gpu_us / static_cast<double>(numbers[i]);
    row.baseline = "linear";
    row.ratio = linear_us / row.timing->median_us;
    row.more["gpus"] = numbers[i];
    row.more["events_per_s"] = std::llround(1e6 / row.timing->median_us);
    row.more["linear_events_per_s"] = std::llround(1e6 / linear_us);
    rows.push_back(row);
  }
}

}  // namespace

std::vector<ResultRow> bench_track(const BenchOptions& options) {
  const Queue queue(parse_device(options.device));
  const Device device = queue.device();
  if (device.is_cpu() || !track::DeviceEvent::is_supported(device)) {
    throw ConfigError("track: got " + to_string(device) +
                      ", expected a GPU that this build has tracking kernels for (configure with "
                      "nvcc)");
  }
  std::vector<Device> devices;
  for (int i = device.index; i < device_count(device.kind); ++i) {
    devices.push_back({device.kind, i});
  }
  const Model<> model(options.model);
  const std::vector<track::EventSource> sources = track::find_events(options.inputs);
  const track::GraphRules rules = track::graph_rules_of(options.model);
  track::GraphBuilder builder(rules);
  std::size_t most_edges = 0;
  for (const track::EventSource& source : sources) {
    if (options.edge_room.empty()) break;
    track::Event event = source.read();
    most_edges = std::max(most_edges, builder.build(event.hits.view()).size());
  }
  std::vector<ResultRow> rows;
  for (const track::EventSource& source : sources) {
    track::Event event = source.read();
    const std::size_t first = rows.size();
    ResultRow host;
    host.variant = "host_graph";
    host.device = to_string(device);
    host.n = builder.build(event.hits.view()).size();
    ResultRow whole = host;
    whole.variant = "device_graph";
    whole.baseline = host.variant;
    append_stages(rows, host, time_on_host(model, rules, queue, event, options.repeats));
    append_stages(rows, whole, time_on_device(model, rules, queue, event, options.repeats));
    set_ratios(rows, first);
    const std::vector<Way> ways = ways_of(options, rules, most_edges);
    for (const int threads : options.threads) {
      append_totals(rows, host, model, device, source, ways, threads, options.repeats);
      if (devices.size() == 1) continue;
      for (const Way& way : ways) {
        if (way.options.graph_on_host) continue;  // the same threads, whatever the GPUs
        append_gpus(rows, host, model, devices, source, way, threads, options.repeats);
      }
    }
  }
  return rows;
}

}  // namespace tensoa::bench
