// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime_figures.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>

#include "cli/generated_columns.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/package/described_columns.hpp"
#include "tensoa/package/inspect.hpp"
#include "tensoa/track/edge_scorer.hpp"
#include "tensoa/track/event_source.hpp"
#include "tensoa/track/graph_builder.hpp"

namespace tensoa::tools {
namespace {

std::size_t threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

/// One call of the model, on memory that is there until the end.
class Work {
 public:
  Work(const Model<>& model, const package::ModelDescription& description, const Queue& queue,
       std::size_t rows) {
    if (!description.binding) {
      score_edges(model, queue);
      return;
    }
    inputs = std::to_string(rows) + (rows == 1 ? " row" : " rows");
    call = [&model, queue,
            columns = std::make_shared<cli::GeneratedColumns>(description, rows, 0, 1, queue)] {
      model.forward(queue, columns->binding());
      queue.wait();
    };
  }

  std::string inputs;
  std::function<void()> call;

 private:
  void score_edges(const Model<>& model, const Queue& queue) {
    struct Event {
      track::Event event;
      track::GraphBuilder builder;
      track::EdgeScorer scorer;
    };
    const auto all = std::make_shared<Event>(Event{
        track::find_events({"generate:1"}).front().read(), track::GraphBuilder(), {model, queue}});
    auto& edges = all->builder.build(all->event.hits.view());
    inputs = std::to_string(all->event.hits.size()) + " hits, " + std::to_string(edges.size()) +
             " edges";
    call = [all, &edges] { all->scorer.score(all->event.hits, edges); };
  }
};

}  // namespace

std::size_t peak_of_this_process() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

RuntimeFigures runtime_figures(const std::string& file, const ModelOptions& options,
                               const RuntimeCall& call) {
  package::ModelDescription description = package::inspect(file, options);
  if (!call.binding.empty()) package::use_binding(description, package::read_binding(call.binding));
  const Queue queue(package::device_for(call.device, description));
  RuntimeFigures figures;
  figures.device = queue.device();
  figures.threads_before = threads_of_this_process();
  const Model<> model(file, options);
  const Work work(model, description, queue, call.rows);
  work.call();
  figures.inputs = work.inputs;
  figures.memory = memory_of_call(queue.device(), work.call);
  figures.process_peak = peak_of_this_process();
  figures.threads_after = threads_of_this_process();
  return figures;
}

}  // namespace tensoa::tools
