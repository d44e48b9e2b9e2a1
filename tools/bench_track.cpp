// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <future>
#include <memory>
#include <string>

#include "bench.hpp"
#include "command.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/sched/event_loop.hpp"
#include "tensoa/sched/wait.hpp"
#include "tensoa/track/pipeline.hpp"

namespace tensoa::tools {
namespace {

constexpr int kWarmUps = 2;
constexpr double kShortestUs = 100'000;  // of a batch of events

/// One event, again and again, on one road.
class Road {
 public:
  /// @param lanes each with a pipeline and a queue
  Road(const Model<>& model, Device device, const track::EventSource& source,
       const track::PipelineOptions& options, int lanes) {
    for (int i = 0; i < lanes; ++i) {
      lanes_.push_back(std::make_unique<Lane>(
          Lane{track::TrackPipeline(model, Queue(device), options), source.read()}));
    }
  }

  /// A thread for each lane, which does `events` events.
  /// @return bytes that one event moved between host and device, and copied for the network
  std::size_t run(std::size_t events) {
    std::vector<std::future<void>> threads;
    threads.reserve(lanes_.size());
    for (const auto& lane : lanes_) {
      threads.push_back(std::async(std::launch::async, [&lane = *lane, events] {
        for (std::size_t i = 0; i < events; ++i) lane.process();
      }));
    }
    for (std::future<void>& thread : threads) thread.get();
    return lanes_.front()->bytes;
  }

  /// Fewer threads than lanes, which do `events` events each.
  std::size_t run_suspended(int threads, std::size_t events) {
    sched::run_events(
        events * static_cast<std::size_t>(threads), threads, static_cast<int>(lanes_.size()),
        [&](std::size_t, std::size_t slot) { lanes_[slot]->process(); }, [](std::size_t) {});
    return lanes_.front()->bytes;
  }

 private:
  struct Lane {
    track::TrackPipeline pipeline;
    track::Event event;
    std::size_t bytes = 0;

    void process() {
      track::ProcessedEvent done = pipeline.process(std::move(event));
      event = std::move(done.event);
      const track::ScoreReport& moved = done.moved;
      bytes = moved.copies.bytes_in + moved.copies.bytes_out + moved.bytes_to_device +
              moved.bytes_to_host;
    }
  };

  std::vector<std::unique_ptr<Lane>> lanes_;
};

/// The stages of one event, each with a wait at its end, and so longer than in a pipeline.
struct StageTimes {
  std::vector<double> graph, infer, tracks;
};

StageTimes time_on_host(const Model<>& model, const Queue& queue, track::Event& event,
                        int repeats) {
  track::GraphBuilder builder;
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

StageTimes time_on_device(const Model<>& model, const Queue& queue, track::Event& event,
                          int repeats) {
  track::DeviceEvent on_device(queue);
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

}  // namespace

std::vector<ResultRow> bench_track(const BenchOptions& options) {
  const Queue queue(parse_device(options.device));
  const Device device = queue.device();
  if (device.is_cpu() || !track::DeviceEvent::is_supported(device)) {
    throw ConfigError("bench track: got " + to_string(device) +
                      ", expected a GPU that this build has tracking kernels for (configure with "
                      "nvcc)");
  }
  const Model<> model(require_model(options.model));
  const std::vector<track::EventSource> sources = track::find_events(options.inputs);
  std::size_t most_edges = 0;
  for (const track::EventSource& source : sources) {
    if (options.edge_room.empty()) break;
    track::Event event = source.read();
    most_edges = std::max(most_edges, track::GraphBuilder().build(event.hits.view()).size());
  }
  std::vector<ResultRow> rows;
  for (const track::EventSource& source : sources) {
    track::Event event = source.read();
    const std::size_t first = rows.size();
    ResultRow host;
    host.variant = "host_graph";
    host.device = to_string(device);
    host.n = track::GraphBuilder().build(event.hits.view()).size();
    ResultRow whole = host;
    whole.variant = "device_graph";
    whole.baseline = host.variant;
    append_stages(rows, host, time_on_host(model, queue, event, options.repeats));
    append_stages(rows, whole, time_on_device(model, queue, event, options.repeats));
    set_ratios(rows, first);
    for (const int threads : options.threads) {
      std::deque<Road> roads;
      std::vector<Variant> variants;
      const auto add = [&](const track::PipelineOptions& how, int lanes) -> Road& {
        return roads.emplace_back(model, device, source, how, lanes);
      };
      variants.push_back({host.variant, [&road = add({.graph_on_host = true}, threads)](
                                            std::size_t n) { return road.run(n); }});
      variants.push_back({whole.variant,
                          [&road = add({}, threads)](std::size_t n) { return road.run(n); },
                          host.variant});
      for (const int each : options.events_per_thread) {
        Road& road = add({.wait = sched::wait_suspended}, threads * each);
        variants.push_back(
            {"suspended_" + std::to_string(each),
             [&road, threads](std::size_t n) { return road.run_suspended(threads, n); },
             whole.variant});
      }
      for (const double room : options.edge_room) {
        const auto rows_of_edges =
            static_cast<std::size_t>(std::ceil(room * static_cast<double>(most_edges)));
        for (const int each : options.events_per_thread) {
          Road& road =
              add({.edge_capacity = rows_of_edges, .wait = sched::wait_suspended}, threads * each);
          variants.push_back(
              {fmt::format("masked_{:g}_{}", room, each),
               [&road, threads](std::size_t n) { return road.run_suspended(threads, n); },
               "suspended_" + std::to_string(each)});
        }
      }
      for (Variant& variant : variants) variant.parts = threads;
      race(variants, options.repeats, kShortestUs);
      const std::size_t totals = rows.size();
      for (const Variant& variant : variants) {
        ResultRow row = host;
        row.variant = variant.name;
        row.baseline = variant.baseline;
        row.stage = "total";
        row.threads = threads;
        row.timing = summarize(variant.times);
        row.bytes_copied = variant.bytes_copied;
        rows.push_back(row);
      }
      set_ratios(rows, totals);
    }
  }
  return rows;
}

}  // namespace tensoa::tools
