// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "bench/harness.hpp"
#include "bench/packing_baseline.hpp"
#include "bench/suites/suites.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/track/edge_scorer.hpp"
#include "tensoa/track/event_source.hpp"
#include "tensoa/track/graph_builder.hpp"

namespace tensoa::bench {
namespace {

using track::Edge;
using track::Hit;

constexpr int kWarmUps = 2;

/// Times by stage, one entry a repeat. The stages keep the order of their names' prefixes.
using StageTimes = std::map<std::string, std::vector<double>>;

/// One event's columns on the device that the model runs on.
struct Columns {
  PortableCollection<Hit> hits;
  PortableCollection<Edge> edges;
};

Columns columns_on(const Queue& queue, const PortableCollection<Hit>& hits,
                   const PortableCollection<Edge>& edges) {
  Columns columns{PortableCollection<Hit>(hits.size(), queue.device()),
                  PortableCollection<Edge>(edges.size(), queue.device())};
  copy(queue, hits, columns.hits);
  copy(queue, edges, columns.edges);
  queue.wait();
  return columns;
}

/// The model runs on the columns where they lie; its answer lands in the column `score`.
class DirectColumns {
 public:
  DirectColumns(const Model<>& model, const Queue& queue, Columns& columns, bool with_edge_columns)
      : model_(model),
        queue_(queue),
        columns_(columns),
        plan_(model.plan(track::bind_edge_network(with_edge_columns, columns.hits.const_view(),
                                                  columns.edges.const_view(),
                                                  columns.edges.view()))) {}

  const Binding& binding() const { return plan_.binding(); }

  std::size_t run(StageTimes& times) {
    Stopwatch watch;
    plan_.rebind(columns_.hits.const_view(), columns_.edges.const_view(), columns_.edges.view());
    times["1 bind"].push_back(watch.lap());
    const CopyReport copies = model_.forward(queue_, plan_);
    queue_.wait();
    times["4 model"].push_back(watch.lap());
    return copies.bytes_in + copies.bytes_out;
  }

 private:
  const Model<>& model_;
  const Queue& queue_;
  Columns& columns_;
  Plan<Hit, Edge, Edge> plan_;
};

/// The baseline, stage by stage.
class PackedColumns {
 public:
  PackedColumns(const Model<>& model, const Queue& queue, const Binding& columns)
      : model_(model), queue_(queue), baseline_(queue, columns) {}

  std::size_t run(StageTimes& times) {
    const bool on_cpu = queue_.device().is_cpu();
    Stopwatch watch;
    std::size_t copied = 0;
    if (!on_cpu) {
      copied += baseline_.to_host();
      times["1 to host"].push_back(watch.lap());
    }
    copied += baseline_.pack();
    times["2 pack"].push_back(watch.lap());
    if (!on_cpu) {
      copied += baseline_.to_device();
      queue_.wait();
      times["3 to device"].push_back(watch.lap());
    }
    const CopyReport copies = model_.forward(queue_, baseline_.rows());
    queue_.wait();
    copied += copies.bytes_in + copies.bytes_out;
    times["4 model"].push_back(watch.lap());
    copied += baseline_.bring_back();
    times["5 answer"].push_back(watch.lap());
    return copied;
  }

 private:
  const Model<>& model_;
  const Queue& queue_;
  PackingBaseline baseline_;
};

/// Appends a row for each stage and one for the whole.
void append_rows(std::vector<ResultRow>& rows, const std::string& variant,
                 const std::string& device, std::size_t n, const StageTimes& stages,
                 std::size_t bytes) {
  const std::size_t repeats = stages.begin()->second.size();
  std::vector<double> totals(repeats);
  const auto row_of = [&](const std::string& stage, const std::vector<double>& times) {
    ResultRow row;
    row.variant = variant;
    row.stage = stage;
    row.device = device;
    row.n = n;
    row.timing = summarize({times.begin() + kWarmUps, times.end()});
    return row;
  };
  for (const auto& [stage, times] : stages) {
    rows.push_back(row_of(stage.substr(2), times));
    for (std::size_t i = 0; i < repeats; ++i) totals[i] += times[i];
  }
  rows.push_back(row_of("total", totals));
  rows.back().bytes_copied = bytes;
}

}  // namespace

std::vector<ResultRow> bench_path(const BenchOptions& options) {
  const Queue queue(parse_device(options.device));
  const Model<> model(options.model);
  const track::EdgeScorer check(model, queue);  // refuses a model that does not take these columns
  const bool with_edge_columns = model.deploy(queue.device()).inputs.size() >= 3;
  const std::string packing = queue.device().is_cpu() ? "pack" : "host_roundtrip";
  std::vector<ResultRow> rows;
  track::GraphBuilder builder(track::graph_rules_of(options.model));
  for (const track::EventSource& source : track::find_events(options.inputs)) {
    track::Event event = source.read();
    const PortableCollection<Edge>& edges = builder.build(event.hits.view());
    if (edges.size() == 0) continue;
    Columns columns = columns_on(queue, event.hits, edges);
    DirectColumns direct(model, queue, columns, with_edge_columns);
    PackedColumns packed(model, queue, direct.binding());
    StageTimes direct_times;
    StageTimes packed_times;
    std::size_t direct_bytes = 0;
    std::size_t packed_bytes = 0;
    for (int i = 0; i < options.repeats + kWarmUps; ++i) {  // in turns, in both orders
      if (i % 2 == 0) direct_bytes = direct.run(direct_times);
      packed_bytes = packed.run(packed_times);
      if (i % 2 == 1) direct_bytes = direct.run(direct_times);
    }
    const std::string device = to_string(queue.device());
    append_rows(rows, packing, device, edges.size(), packed_times, packed_bytes);
    const double baseline = rows.back().timing->median_us;
    append_rows(rows, "jit_copy", device, edges.size(), direct_times, direct_bytes);
    rows.back().baseline = packing;
    rows.back().ratio = baseline / rows.back().timing->median_us;
  }
  if (rows.empty())
    throw InputError("bench path: no event has candidate edges; nothing to measure");
  return rows;
}

}  // namespace tensoa::bench
