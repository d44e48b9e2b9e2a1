// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/harness.hpp"
#include "bench/packing_baseline.hpp"
#include "bench/suites/suites.hpp"
#include "bench/workloads.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/output_file.hpp"
#include "tensoa/engine/describe.hpp"
#include "tensoa/track/event_source.hpp"
#include "tensoa/track/graph_builder.hpp"

namespace tensoa::bench {
namespace {

using track::Edge;
using track::Hit;

/// Waits once after many calls (throughput), or after each (what one event waits for).
enum class Waits { kOnce, kEach };

template <class Case>
void measure(std::vector<ResultRow>& rows, Case& work, const ForwardFiles& files,
             const Queue& queue, int repeats) {
  // On the CPU short batches, which other processes of the machine seldom interrupt.
  const double shortest = queue.device().is_cpu() ? 200 : 2000;  // us, of a batch
  const std::vector<double> truth = work.truth(files.truth);
  const auto metadata = work.metadata();
  const std::string packing = queue.device().is_cpu() ? "pack" : "host_roundtrip";
  PackingBaseline baseline(queue, metadata.binding());
  const auto forward = [&](const Model<>& model, Waits waits) {
    return [&, waits, plan = model.plan(metadata)](std::size_t calls) mutable {
      CopyReport copies;
      for (std::size_t i = 0; i < calls; ++i) {
        work.rebind(plan);
        copies = model.forward(queue, plan);
        if (waits == Waits::kEach) queue.wait();
      }
      queue.wait();
      return copies.bytes_in + copies.bytes_out;
    };
  };
  const auto pack = [&](std::size_t calls) {
    std::size_t copied = 0;
    for (std::size_t i = 0; i < calls; ++i) copied = baseline.run(files.torchscript);
    return copied;
  };
  const auto errors_after = [&](const Variant& variant) {
    work.forget();
    variant.run(1);
    return errors_of(work.answer(), truth);
  };
  std::vector<Waits> stages{Waits::kOnce};
  if (!queue.device().is_cpu()) stages.push_back(Waits::kEach);
  for (const Waits waits : stages) {
    std::vector<Variant> variants;
    variants.push_back({.name = packing, .run = pack});
    variants.push_back(
        {.name = "jit_copy", .run = forward(files.torchscript, waits), .baseline = packing});
    variants.push_back(
        {.name = "jit_export", .run = forward(files.exported, waits), .baseline = "jit_copy"});
    variants.push_back({.name = "aot", .run = forward(files.aot, waits), .baseline = "jit_copy"});
    variants.push_back(
        {.name = "aot_fused", .run = forward(files.aot_fused, waits), .baseline = "jit_copy"});
    if (!queue.device().is_cpu()) {
      variants.push_back(
          {.name = "aot_graph", .run = forward(files.aot_graph, waits), .baseline = "jit_copy"});
    }
    run_in_turns(variants, repeats, shortest);
    const std::size_t first = rows.size();
    for (Variant& variant : variants) {
      const Errors errors = errors_after(variant);
      ResultRow& row = rows.emplace_back();
      row.model = work.model();
      row.variant = variant.name;
      row.stage = waits == Waits::kOnce ? "total" : "latency";
      row.device = to_string(queue.device());
      row.n = work.size();
      row.timing = summarize(std::move(variant.times));
      row.bytes_copied = variant.bytes_copied;
      row.max_abs_error = errors.max_abs;
      row.max_rel_error = errors.relative;
      if (std::is_same_v<Case, GraphCase>) row.flips = errors.flips;
      row.baseline = variant.baseline;
    }
    set_ratios(rows, first);
  }
}

}  // namespace

void describe_forward(const std::string& folder) {
  const std::filesystem::path to(folder);
  PortableCollection<Points> points(1, Device::cpu());
  PortableCollection<Answers> answers(1, Device::cpu());
  PortableCollection<Hit> hits(1, Device::cpu());
  PortableCollection<Edge> edges(1, Device::cpu());
  const auto write = [&](const char* model, const auto& metadata) {
    write_file(to / (std::string(model) + ".json"), describe(metadata));
  };
  write(MlpCase::kModel, mlp_metadata(points.const_view(), answers.view()));
  for (const GraphModel& model : kGraphModels) {
    write(model.name, track::bind_edge_network(model.takes_edge_columns, hits.const_view(),
                                               edges.const_view(), edges.view()));
  }
}

std::vector<ResultRow> bench_forward(const BenchOptions& options) {
  const Device device = parse_device(options.device);
  std::vector<Queue> queues;
  if (device.is_cpu() || options.device == "auto") queues.emplace_back(Device::cpu());
  if (!device.is_cpu()) queues.emplace_back(device);
  std::vector<ResultRow> rows;
  for (const Queue& queue : queues) {
    const ForwardFiles mlp(options.packages, MlpCase::kModel, queue);
    std::vector<std::pair<GraphModel, ForwardFiles>> networks;
    for (const GraphModel& model : kGraphModels) {
      const bool is_ours = &model == kGraphModels;  // the weights of the other need not be here
      if (is_ours || std::filesystem::exists(options.packages + '/' + model.name + ".pt")) {
        networks.emplace_back(model, ForwardFiles(options.packages, model.name, queue));
      }
    }
    for (const std::size_t n : options.rows) {
      if (n == 0) continue;  // nothing would run
      MlpCase work(n, queue);
      measure(rows, work, mlp, queue, options.repeats);
    }
    track::GraphBuilder builder;
    for (const track::EventSource& source : track::find_events(options.inputs)) {
      track::Event event = source.read();
      const PortableCollection<Edge>& edges = builder.build(event.hits.view());
      if (edges.size() == 0) continue;
      for (const auto& [model, files] : networks) {
        GraphCase work(model, event.hits, edges, queue);
        measure(rows, work, files, queue, options.repeats);
      }
    }
  }
  if (rows.empty()) {
    throw InputError("forward: no rows and no event with candidate edges; nothing to measure");
  }
  return rows;
}

}  // namespace tensoa::bench
