// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "tensoa/track/edge_scorer.hpp"
#include "tensoa/track/event.hpp"
#include "tensoa/track/event_source.hpp"
#include "tensoa/track/graph_builder.hpp"
#include "tensoa/track/tracks.hpp"

namespace tensoa::track {

/// Wall-clock seconds of the stages, of one event or summed over many.
struct StageSeconds {
  double read = 0;
  double graph = 0;
  double infer = 0;
  double tracks = 0;

  StageSeconds& operator+=(const StageSeconds& other) noexcept;
};

/// An event after its way through the pipeline: `event.hits.track_id` is filled.
struct ProcessedEvent {
  Event event;
  std::size_t edges = 0;
  std::size_t tracks = 0;
  StageSeconds seconds;
  ScoreReport moved;
};

/// hits → candidate graph → network → tracks, for one event after another.
///
///     TrackPipeline pipeline(model, Queue(Device::cpu()));
///     ProcessedEvent done = pipeline.process(source);
///
/// *Threads*: one pipeline per thread, each with a queue of its own; the model is shared.
class TrackPipeline {
 public:
  /// @throws LoadError, DeviceError as EdgeScorer
  TrackPipeline(const Model<>& model, const Queue& queue, const TrackOptions& options = {});

  /// Reads the event and runs all stages. An event without hits gives an empty answer.
  /// @throws InputError for a file that cannot be used, and for hits without a single candidate
  /// edge: their coordinates are hardly those of tracks in mm; BindingError, EngineError,
  /// DeviceError as EdgeScorer
  ProcessedEvent process(const EventSource& source);

  /// The edges of the last event, with their scores. *Lifetime*: until the next `process`.
  const PortableCollection<Edge>& edges() const noexcept { return builder_.edges(); }

 private:
  GraphBuilder builder_;
  EdgeScorer scorer_;
  TrackFinder finder_;
};

}  // namespace tensoa::track
