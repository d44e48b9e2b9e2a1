// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/merge/pipeline.hpp"

#include <utility>

#include "grow.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/merge/generator.hpp"

namespace tensoa::merge {
namespace {

/// An event with edges, whose kernels load what the device needs.
EdgeScorer warmed_up(const Model<>& model, const Queue& queue, DeviceEvent& on_device) {
  Event example = generate({.seed = 1, .particles = 2}, 0);
  on_device.start_graph(example);
  on_device.finish_graph();
  EdgeScorer scorer(model, queue, on_device.nodes(), on_device.edges());
  on_device.start_merge(0.5F);
  MergedFragments merged = on_device.finish_merge(example);
  if (!merged.is_complete) {
    on_device.start_graph(example);
    on_device.finish_graph();
    scorer.enqueue(on_device.nodes(), on_device.edges());
    on_device.start_merge(0.5F);
    merged = on_device.finish_merge(example);
  }
  try {
    scorer.require_scores(merged.bad_scores, merged.edges.edges);
  } catch (const EngineError& error) {
    throw LoadError(error.what() + EdgeScorer::expected());
  }
  return scorer;
}

}  // namespace

MergePipeline::MergePipeline(const Model<>& model, const Queue& queue,
                             const PipelineOptions& options)
    : queue_(queue),
      options_(options),
      on_device_(queue, options.cuts, options.edge_capacity),
      scorer_(warmed_up(model, queue, on_device_)) {}

double MergePipeline::seconds_since_last() {
  const auto now = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
}

void MergePipeline::begin(Event event) {
  done_ = {};
  done_.event = std::move(event);
  kept_edges_.resize(0);
  next_ = Step::kGraph;
}

bool MergePipeline::step() {
  switch (next_) {
    case Step::kNothing:
    case Step::kTake:
      throw ConfigError("MergePipeline::step: there is no event to continue; call begin() first");
    case Step::kGraph:
      last_ = std::chrono::steady_clock::now();
      start_graph();
      return true;
    case Step::kScores:
      start_scores();
      return true;
    case Step::kMerged:
      return finish();
    case Step::kKeptEdges:
      queue_.wait();
      next_ = Step::kTake;
      return false;
  }
  return false;
}

/// With an edge capacity, up to the scores: nothing waits for the number of edges.
void MergePipeline::start_graph() {
  on_device_.start_graph(done_.event);
  next_ = Step::kScores;
  if (options_.edge_capacity > 0) start_scores();
}

void MergePipeline::start_scores() {
  const std::size_t rows = on_device_.finish_graph();
  done_.seconds.graph += seconds_since_last();
  if (rows > 0) {
    done_.moved.copies += scorer_.enqueue(on_device_.nodes(), on_device_.edges());
  }
  on_device_.start_merge(options_.min_score, options_.edge_auc && done_.event.has_truth);
  next_ = Step::kMerged;
}

bool MergePipeline::finish() {
  const MergedFragments merged = on_device_.finish_merge(done_.event);
  done_.seconds.infer += seconds_since_last();
  done_.moved.bytes_to_device += on_device_.bytes_to_device();
  done_.moved.bytes_to_host += on_device_.bytes_to_host();
  if (!merged.is_complete) {
    ++done_.passes;
    start_graph();
    return true;
  }
  done_.edges = merged.edges.edges;
  scorer_.require_scores(merged.bad_scores, done_.edges);
  done_.merged = merged.merged;
  done_.edge_counts = merged.edges;
  if (merged.score_counts != nullptr) done_.edge_auc.add(*merged.score_counts);
  next_ = Step::kTake;
  if (!options_.keep_edges || done_.edges == 0 || queue_.device().is_cpu()) return false;
  events::make_room(kept_edges_, done_.edges);
  done_.moved.bytes_to_host += copy(queue_, on_device_.edges(), kept_edges_);
  next_ = Step::kKeptEdges;
  return true;
}

ProcessedEvent MergePipeline::take() {
  if (next_ != Step::kTake) {
    throw ConfigError("MergePipeline::take: the event is not finished; call step() until it is");
  }
  next_ = Step::kNothing;
  return std::move(done_);
}

ProcessedEvent MergePipeline::process(Event event) {
  begin(std::move(event));
  while (step()) queue_.wait();
  return take();
}

}  // namespace tensoa::merge
