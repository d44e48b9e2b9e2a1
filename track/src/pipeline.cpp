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

/// The queue that the pipeline works on.
Queue queue_for(const Queue& queue, const PipelineOptions& options) {
  const bool has_graphs = options.cuda_graph && options.edge_capacity > 0;
  return has_graphs && TrackPipeline::stays_on(queue.device(), options) ? Queue(queue.device())
                                                                        : queue;
}

}  // namespace

TrackPipeline::TrackPipeline(const Model<>& model, const Queue& queue,
                             const PipelineOptions& options)
    : options_(options),
      queue_(queue_for(queue, options)),
      model_(model),
      builder_(options.graph),
      scorer_(model, queue_),
      finder_(options.tracks) {
  if (!stays_on(queue.device(), options)) return;
  device_event_.emplace(queue_, options.graph, options.tracks, options.edge_capacity);
  Event example = detail::example_event();  // loads the kernels; the rules may leave no edge of it
  device_event_->build_graph(example.hits.const_view());
  device_event_->find_tracks(example.hits.view());
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
  begin(std::move(event));
  while (step()) {
    if (options_.wait) options_.wait(queue_);
  }
  return take();
}

void TrackPipeline::begin(Event event) {
  done_ = {};
  done_.event = std::move(event);
  next_ = Step::kBegin;
}

bool TrackPipeline::step() {
  switch (next_) {
    case Step::kNothing:
    case Step::kTake:
      throw ConfigError("TrackPipeline::step: there is no event to continue; call begin() first");
    case Step::kBegin:
      if (!device_event_) {
        run_on_host();
        return false;
      }
      if (options_.edge_capacity > 0) {
        start_event();
      } else {
        start_graph();
      }
      return true;
    case Step::kScores:
      start_scores();
      return true;
    case Step::kTracks:
      if (!finish_tracks()) {
        ++done_.passes;
        start_event();
        return true;
      }
      if (!options_.keep_edges || done_.edges == 0) return false;
      keep_edges();
      return true;
    case Step::kKeptEdges:
      queue_.wait();
      done_.seconds.infer += seconds_since(last_step_);
      next_ = Step::kTake;
      return false;
  }
  return false;
}

ProcessedEvent TrackPipeline::take() {
  if (next_ != Step::kTake) {
    throw ConfigError("TrackPipeline::take: the event is not finished; call step() until it is");
  }
  next_ = Step::kNothing;
  return std::move(done_);
}

void TrackPipeline::run_on_host() {
  Clock::time_point last = Clock::now();
  PortableCollection<Edge>& edges = builder_.build(done_.event.hits.view());
  done_.edges = edges.size();
  require_edges(done_);
  done_.seconds.graph = seconds_since(last);
  done_.moved = scorer_.score(done_.event.hits, edges);
  done_.seconds.infer = seconds_since(last);
  done_.tracks = finder_.find(done_.event.hits.view(), edges.const_view());
  done_.edge_counts = compare_edges(edges.const_view(), options_.tracks.min_score);
  if (options_.edge_auc && done_.event.has_truth) done_.edge_auc.add(edges.const_view());
  done_.seconds.answer = seconds_since(last);
  next_ = Step::kTake;
}

void TrackPipeline::start_graph() {
  last_step_ = Clock::now();
  kept_edges_.resize(0);
  device_event_->start_graph(done_.event.hits.const_view());
  next_ = Step::kScores;
}

/// All of it, as nothing waits for the number of edges.
void TrackPipeline::start_event() {
  last_step_ = Clock::now();
  kept_edges_.resize(0);
  const std::size_t launched = device_event_->launched_as_graph();
  device_event_->run_event(
      done_.event.hits.const_view(),
      [this] { return scorer_.enqueue(device_event_->hits(), device_event_->edges()); },
      options_.cuda_graph ? model_.recordable(queue_.device()) : nullptr,
      options_.edge_auc && done_.event.has_truth);
  done_.as_cuda_graph = device_event_->launched_as_graph() > launched;
  done_.moved.copies += device_event_->copies();
  next_ = Step::kTracks;
}

void TrackPipeline::start_scores() {
  const std::size_t rows = device_event_->finish_graph();
  done_.seconds.graph += seconds_since(last_step_);
  if (rows > 0) {
    done_.moved.copies += scorer_.enqueue(device_event_->hits(), device_event_->edges());
  }
  device_event_->start_tracks(options_.edge_auc && done_.event.has_truth);
  next_ = Step::kTracks;
}

/// @return false: there were more edges than room for them, and the event is to be done again
bool TrackPipeline::finish_tracks() {
  const FoundTracks found = device_event_->finish_tracks(done_.event.hits.view());
  done_.moved.bytes_to_device += device_event_->bytes_to_device();
  done_.moved.bytes_to_host += device_event_->bytes_to_host();
  done_.seconds.infer += seconds_since(last_step_);
  if (!found.is_complete) return false;
  done_.edges = found.edges.edges;
  require_edges(done_);
  scorer_.require_scores(found.bad_scores, done_.edges);
  done_.tracks = found.tracks;
  done_.edge_counts = found.edges;
  if (found.score_counts != nullptr) done_.edge_auc.add(*found.score_counts);
  next_ = Step::kTake;
  return true;
}

void TrackPipeline::keep_edges() {
  events::make_room(kept_edges_, done_.edges);
  done_.moved.bytes_to_host += copy(queue_, device_event_->edges(), kept_edges_);
  next_ = Step::kKeptEdges;
}

}  // namespace tensoa::track
