// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "tensoa/events/run_figures.hpp"
#include "tensoa/events/scores.hpp"
#include "tensoa/merge/device_event.hpp"
#include "tensoa/merge/edge_network.hpp"
#include "tensoa/merge/event.hpp"

namespace tensoa::merge {

/// An event after its way through the pipeline: `event.fragments.merged_id` is filled.
struct ProcessedEvent {
  Event event;
  std::size_t edges = 0;
  std::size_t merged = 0;
  events::EdgeCounts edge_counts;  ///< means nothing without truth
  events::EdgeAuc edge_auc;        ///< with PipelineOptions::edge_auc, of an event with truth
  events::StageSeconds seconds;    ///< joining fragments is a part of `infer`
  events::ScoreReport moved;
  std::size_t passes = 1;  ///< 2 where there were more edges than PipelineOptions::edge_capacity
};

/// How a MergePipeline works.
struct PipelineOptions {
  LinkCuts cuts = {};
  float min_score = 0.3F;  ///< of an edge that a fragment follows, at least
  /// Of events with truth: count the scores for the area under the ROC curve.
  bool edge_auc = false;
  /// edges() has the edges of the last event. On a GPU that costs a copy of 53 bytes an edge.
  bool keep_edges = false;
  /// Rows for edges, so that nothing waits for their number; for networks that pass messages along edges
  /// and nothing else (events::EdgeRoom). Each event with more edges is done twice. 0: wait for the number.
  std::size_t edge_capacity = 0;
};

/// clusters → node features and candidate graph → network → merged particles, for one event after another.
///
///     MergePipeline pipeline(model, Queue(Device::cpu()));
///     pipeline.begin(make_event(…));
///     while (pipeline.step()) co_await sched::done(pipeline.queue());   // or pipeline.queue().wait()
///     const ProcessedEvent done = pipeline.take();
///
/// All runs on the device of the queue (DeviceEvent): the same edges and features to the bit on CPU and GPU, and the same merged
/// particles as far as the scores are.
///
/// *Threads*: a pipeline, with its own queue, for each event in flight; the model is shared.
class MergePipeline {
 public:
  /// Warms up the model and the kernels.
  /// @throws LoadError, DeviceError as EdgeScorer; ConfigError for cuts as DeviceEvent
  MergePipeline(const Model<>& model, const Queue& queue, const PipelineOptions& options = {});

  /// Begins an event; one that was not finished is given up.
  void begin(Event event);
  /// Goes on: after each step that returns true, call it again when queue() is done; earlier it blocks.
  /// @throws BindingError, EngineError, DeviceError as EdgeScorer; ConfigError without an event
  bool step();
  /// The event, after a step() that returned false. @throws ConfigError before
  ProcessedEvent take();
  /// All of these, blocking.
  ProcessedEvent process(Event event);

  const Queue& queue() const noexcept { return queue_; }

  /// The edges of the last event, with their scores; on a GPU only with `keep_edges`, else empty. *Lifetime*: until the next event.
  const PortableCollection<Edge>& edges() const noexcept {
    return queue_.device().is_cpu() ? on_device_.edges() : kept_edges_;
  }

 private:
  /// The next step.
  enum class Step : std::uint8_t { kNothing, kGraph, kScores, kMerged, kKeptEdges, kTake };

  void start_graph();
  void start_scores();
  bool finish();
  double seconds_since_last();

  Queue queue_;
  PipelineOptions options_;
  DeviceEvent on_device_;
  EdgeScorer scorer_;
  PortableCollection<Edge> kept_edges_{0, Device::cpu()};
  ProcessedEvent done_;  ///< as far as it is
  Step next_ = Step::kNothing;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace tensoa::merge
