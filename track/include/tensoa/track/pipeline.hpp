// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "tensoa/events/run_figures.hpp"
#include "tensoa/track/device_event.hpp"
#include "tensoa/track/edge_scorer.hpp"
#include "tensoa/track/event.hpp"
#include "tensoa/track/event_source.hpp"
#include "tensoa/track/graph_builder.hpp"
#include "tensoa/track/metrics.hpp"
#include "tensoa/track/tracks.hpp"

namespace tensoa::track {

/// An event after its way through the pipeline: `event.hits.track_id` is filled.
struct ProcessedEvent {
  Event event;
  std::size_t edges = 0;
  std::size_t tracks = 0;
  EdgeCounts edge_counts;  ///< means nothing without truth
  EdgeAuc edge_auc;        ///< with PipelineOptions::edge_auc, of an event with truth
  events::StageSeconds seconds;
  events::ScoreReport moved;
  std::size_t passes = 1;  ///< 2 where there were more edges than PipelineOptions::edge_capacity
  bool as_cuda_graph = false;  ///< launched as one
};

/// How a TrackPipeline works.
struct PipelineOptions {
  GraphRules graph = {};
  TrackOptions tracks = {};
  /// On a GPU: build the graph and find the tracks on the host all the same.
  bool graph_on_host = false;
  /// Of events with truth: count the scores for the area under the ROC curve.
  bool edge_auc = false;
  /// On a GPU: edges() has the edges of the last event. Costs a copy of 37 bytes an edge.
  bool keep_edges = false;
  /// Where the event stays on the device: rows for edges, so that nothing waits for their number; for
  /// networks that pass messages along edges and nothing else (DeviceEvent). Each event with more edges
  /// is done twice. 0: wait for the number.
  std::size_t edge_capacity = 0;
  /// With an edge capacity, on a GPU: events are launched as a whole, as a CUDA graph, where the model can be recorded
  /// (Model::recordable); on a queue of the pipeline's own, so that nothing else runs the model there. Faster for one event
  /// after another, not for several at the same time (docs/tracking.md).
  bool cuda_graph = false;
  /// Where the event stays on the device: called where process() would block, to come back when
  /// the queue is done. With sched::wait_suspended other events have the thread meanwhile. Without one
  /// the thread blocks.
  std::function<void(const Queue&)> wait = {};
};

/// hits → candidate graph → network → tracks, for one event after another.
///
///     TrackPipeline pipeline(model, Queue(Device::cpu()));
///     ProcessedEvent done = pipeline.process(source);
///
/// All runs on the device of the queue: on a GPU the hits go up once and the tracks come down once
/// (DeviceEvent), and the host waits for the number of edges and for the tracks. Where this build has
/// no kernels for it, or the options require it, graph and tracks are made on the host, and the columns
/// go up and the scores come down (EdgeScorer). Edges and tracks are the same either way, as far
/// as the scores are.
///
/// *Threads*: a pipeline, with its own queue, for each event in flight; the model is shared.
class TrackPipeline {
 public:
  /// Whether the whole event stays on the device.
  static bool stays_on(Device device, const PipelineOptions& options) noexcept {
    return !device.is_cpu() && !options.graph_on_host && DeviceEvent::is_supported(device);
  }

  /// Warms up the model and, where the event stays on the device, the kernels.
  /// @throws LoadError, DeviceError as EdgeScorer
  TrackPipeline(const Model<>& model, const Queue& queue, const PipelineOptions& options = {});

  /// Reads the event and runs all stages. An event without hits has an empty answer.
  /// @throws InputError for a file that cannot be used, and for hits without a single candidate
  /// edge: their coordinates are hardly those of tracks in mm; BindingError, EngineError,
  /// DeviceError as EdgeScorer
  ProcessedEvent process(const EventSource& source);

  /// The same for an event that is there. Its node features are filled where the graph is made on
  /// the host.
  ProcessedEvent process(Event event);

  /// process() in steps, for callers that do something else than wait: after each step that
  /// returns true, call step() again when queue() is done; earlier it blocks.
  ///
  ///     pipeline.begin(std::move(event));
  ///     while (pipeline.step()) co_await sched::done(pipeline.queue());
  ///     const ProcessedEvent done = pipeline.take();
  ///
  /// begin() drops an event that was not finished. @throws as process()
  void begin(Event event);
  bool step();
  /// The event, after a step() that returned false. @throws ConfigError before
  ProcessedEvent take();

  /// The queue of the steps: the constructor's or, for events that are launched as CUDA graphs, the pipeline's own.
  const Queue& queue() const noexcept { return queue_; }

  /// The edges of the last event, with their scores; on a GPU only with `keep_edges` or
  /// `graph_on_host`, else empty. *Lifetime*: until the next `process`.
  const PortableCollection<Edge>& edges() const noexcept {
    return device_event_ ? kept_edges_ : builder_.edges();
  }

 private:
  /// The next step.
  enum class Step : std::uint8_t { kNothing, kBegin, kScores, kTracks, kKeptEdges, kTake };

  void run_on_host();
  void start_graph();
  void start_event();
  void start_scores();
  bool finish_tracks();
  void keep_edges();

  PipelineOptions options_;
  Queue queue_;
  Model<> model_;
  GraphBuilder builder_;
  EdgeScorer scorer_;
  TrackFinder finder_;
  std::optional<DeviceEvent> device_event_;  ///< where the event stays on the device
  PortableCollection<Edge> kept_edges_{0, Device::cpu()};
  ProcessedEvent done_;  ///< as far as it is
  Step next_ = Step::kNothing;
  std::chrono::steady_clock::time_point last_step_;
};

}  // namespace tensoa::track
