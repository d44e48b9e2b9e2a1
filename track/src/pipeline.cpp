// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/pipeline.hpp"

#include <chrono>
#include <string>
#include <utility>

#include "example_event.hpp"
#include "grow.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::track {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point& last) {
  const Clock::time_point now = Clock::now();
  return std::chrono::duration<double>(now - std::exchange(last, now)).count();
}

/// @throws InputError
void require_edges(const ProcessedEvent& done) {
  const std::size_t hits = done.event.hits.size();
  if (hits == 0 || done.edges > 0) return;
  throw InputError("got " + std::to_string(hits) + (hits == 1 ? " hit" : " hits") +
                   " without a candidate edge, expected those of tracks from near the beam "
                   "line, in mm");
}

}  // namespace

StageSeconds& StageSeconds::operator+=(const StageSeconds& other) noexcept {
  read += other.read;
  graph += other.graph;
  infer += other.infer;
  tracks += other.tracks;
  return *this;
}

TrackPipeline::TrackPipeline(const Model<>& model, const Queue& queue,
                             const PipelineOptions& options)
    : queue_(queue), options_(options), scorer_(model, queue), finder_(options.tracks) {
  if (!stays_on(queue.device(), options)) return;
  device_event_.emplace(queue, GraphCuts{}, options.tracks, options.edge_capacity);
  options_.wait = {};                // there are no other events yet
  process(detail::example_event());  // loads the kernels
  options_.wait = options.wait;
}

void TrackPipeline::wait() const {
  if (options_.wait) options_.wait(queue_);
}

ProcessedEvent TrackPipeline::process(const EventSource& source) {
  Clock::time_point last = Clock::now();
  Event event = source.read();
  const double seconds = seconds_since(last);
  ProcessedEvent done = process(std::move(event));
  done.seconds.read = seconds;
  return done;
}

ProcessedEvent TrackPipeline::process(Event event) {
  ProcessedEvent done;
  done.event = std::move(event);
  device_event_ ? run_on_device(done) : run_on_host(done);
  return done;
}

void TrackPipeline::run_on_host(ProcessedEvent& done) {
  Clock::time_point last = Clock::now();
  PortableCollection<Edge>& edges = builder_.build(done.event.hits.view());
  done.edges = edges.size();
  require_edges(done);
  done.seconds.graph = seconds_since(last);
  done.moved = scorer_.score(done.event.hits, edges);
  done.seconds.infer = seconds_since(last);
  done.tracks = finder_.find(done.event.hits.view(), edges.const_view());
  done.edge_counts = compare_edges(edges.const_view(), options_.tracks.min_score);
  done.seconds.tracks = seconds_since(last);
}

void TrackPipeline::run_on_device(ProcessedEvent& done) {
  Clock::time_point last = Clock::now();
  kept_edges_.resize(0);
  FoundTracks found;
  do {
    device_event_->start_graph(done.event.hits.const_view());
    if (options_.edge_capacity == 0) wait();
    const std::size_t rows = device_event_->finish_graph();
    done.seconds.graph += seconds_since(last);
    if (rows > 0) {
      done.moved.copies += scorer_.enqueue(device_event_->hits(), device_event_->edges());
    }
    device_event_->start_tracks();
    wait();
    found = device_event_->finish_tracks(done.event.hits.view());
    done.moved.bytes_to_device += device_event_->bytes_to_device();
    done.moved.bytes_to_host += device_event_->bytes_to_host();
  } while (!found.is_complete);
  done.edges = found.edges.edges;
  require_edges(done);
  scorer_.require_scores(found.bad_scores, done.edges);
  done.tracks = found.tracks;
  done.edge_counts = found.edges;
  if (options_.keep_edges && done.edges > 0) {
    detail::make_room(kept_edges_, done.edges);
    done.moved.bytes_to_host += copy(queue_, device_event_->edges(), kept_edges_);
    wait();
    queue_.wait();
  }
  done.seconds.infer = seconds_since(last);
}

}  // namespace tensoa::track
