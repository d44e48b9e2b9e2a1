// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/float64.hpp"
#include "bench/suites/suites.hpp"
#include "bench/tensor_cost.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/track/edge_scorer.hpp"
#include "tensoa/track/event_source.hpp"
#include "tensoa/track/graph_builder.hpp"

namespace tensoa::bench {
namespace {

using track::Edge;

ResultRow compare(ConstView<Edge> edges, const std::vector<double>& reference, Device device) {
  ResultRow row;
  row.variant = "jit";
  row.device = to_string(device);
  row.n = edges.size();
  const Errors errors = errors_of({edges.score.data(), edges.size()}, reference);
  row.max_abs_error = errors.max_abs;
  row.max_rel_error = errors.relative;
  row.flips = errors.flips;
  return row;
}

}  // namespace

std::vector<ResultRow> bench_accuracy(const BenchOptions& options) {
  std::vector<Device> devices{Device::cpu()};
  if (const Device device = parse_device(options.device); !device.is_cpu())
    devices.push_back(device);
  const Model<> model(options.model);
  const Model<> model64(options.model, in_float64());
  std::vector<track::EdgeScorer> scorers;
  scorers.reserve(devices.size());
  for (const Device device : devices) scorers.emplace_back(model, Queue(device));

  std::vector<ResultRow> rows;
  track::GraphBuilder builder(track::graph_rules_of(options.model));
  for (const track::EventSource& source : track::find_events(options.inputs)) {
    track::Event event = source.read();
    PortableCollection<Edge>& edges = builder.build(event.hits.view());
    if (edges.size() == 0) continue;
    const std::vector<double> reference =
        scores_in_float64(model64, event.hits.const_view(), edges.const_view());
    for (std::size_t i = 0; i < devices.size(); ++i) {
      scorers[i].score(event.hits, edges);
      rows.push_back(compare(edges.const_view(), reference, devices[i]));
    }
  }
  if (rows.empty()) throw InputError("accuracy: no event has candidate edges; nothing to compare");
  return rows;
}

}  // namespace tensoa::bench
