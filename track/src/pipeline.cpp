// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/pipeline.hpp"

#include <chrono>
#include <string>
#include <utility>

#include "tensoa/core/error.hpp"

namespace tensoa::track {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point& last) {
  const Clock::time_point now = Clock::now();
  return std::chrono::duration<double>(now - std::exchange(last, now)).count();
}

}  // namespace

StageSeconds& StageSeconds::operator+=(const StageSeconds& other) noexcept {
  read += other.read;
  graph += other.graph;
  infer += other.infer;
  tracks += other.tracks;
  return *this;
}

TrackPipeline::TrackPipeline(const Model<>& model, const Queue& queue, const TrackOptions& options)
    : scorer_(model, queue), finder_(options) {}

ProcessedEvent TrackPipeline::process(const EventSource& source) {
  ProcessedEvent done;
  Clock::time_point last = Clock::now();
  done.event = source.read();
  done.seconds.read = seconds_since(last);
  PortableCollection<Edge>& edges = builder_.build(done.event.hits.view());
  done.edges = edges.size();
  if (const std::size_t hits = done.event.hits.size(); hits > 0 && done.edges == 0) {
    throw InputError("got " + std::to_string(hits) + (hits == 1 ? " hit" : " hits") +
                     " without a candidate edge, expected those of tracks from near the beam "
                     "line, in mm");
  }
  done.seconds.graph = seconds_since(last);
  done.moved = scorer_.score(done.event.hits, edges);
  done.seconds.infer = seconds_since(last);
  done.tracks = finder_.find(done.event.hits.view(), edges.const_view());
  done.seconds.tracks = seconds_since(last);
  return done;
}

}  // namespace tensoa::track
