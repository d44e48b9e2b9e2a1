// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>

#include "bench.hpp"
#include "command.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/track/edge_scorer.hpp"
#include "tensoa/track/event_source.hpp"
#include "tensoa/track/graph_builder.hpp"

namespace tensoa::tools {
namespace {

using track::Edge;
using track::Hit;

constexpr int kWarmUps = 2;

/// Times by stage, one entry a repeat. The stages keep the order of their names' prefixes.
using Laps = std::map<std::string, std::vector<double>>;

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

/// Our road: the model runs on the columns, its answer lands in the column `score`.
class DirectRoad {
 public:
  DirectRoad(const Model<>& model, const Queue& queue, Columns& columns, bool with_edge_columns)
      : model_(model),
        queue_(queue),
        columns_(columns),
        plan_(track::plan_edge_network(with_edge_columns, columns.hits.const_view(),
                                       columns.edges.const_view(), columns.edges.view())) {}

  std::size_t run(Laps& laps) {
    Stopwatch watch;
    plan_.rebind(columns_.hits.const_view(), columns_.edges.const_view(), columns_.edges.view());
    laps["1 bind"].push_back(watch.lap());
    const CopyReport copies = model_.forward(queue_, plan_);
    queue_.wait();
    laps["4 model"].push_back(watch.lap());
    return copies.bytes_in + copies.bytes_out;
  }

 private:
  const Model<>& model_;
  const Queue& queue_;
  Columns& columns_;
  Plan<Hit, Edge, Edge> plan_;
};

/// What users do without this: columns to the host, packed row by row, back to the device, and the
/// same for the answer. On the CPU the two transfers fall away.
class PackingRoad {
 public:
  PackingRoad(const Model<>& model, const Queue& queue, Columns& columns, bool with_edge_columns)
      : model_(model), queue_(queue), columns_(columns), with_edge_columns_(with_edge_columns) {}

  std::size_t run(Laps& laps) {
    const bool on_cpu = queue_.device().is_cpu();
    const std::size_t n_hits = columns_.hits.size();
    const std::size_t n_edges = columns_.edges.size();
    copied_ = 0;
    Stopwatch watch;
    const View<Hit> hits = columns_.hits.view();
    const View<Edge> edges = columns_.edges.view();
    std::array<std::vector<float>, 3> nodes;
    std::array<std::vector<std::int64_t>, 2> ends;
    std::array<std::vector<float>, 4> features;
    if (!on_cpu) {
      nodes = {to_host(hits.r_scaled, n_hits), to_host(hits.phi_scaled, n_hits),
               to_host(hits.z_scaled, n_hits)};
      ends = {to_host(edges.source, n_edges), to_host(edges.target, n_edges)};
      if (with_edge_columns_) {
        features = {to_host(edges.dr, n_edges), to_host(edges.dphi, n_edges),
                    to_host(edges.dz, n_edges), to_host(edges.dR, n_edges)};
      }
      queue_.wait();
      laps["1 to host"].push_back(watch.lap());
    }
    const auto column = [&]<class T>(const PlainColumn<T>& there, const std::vector<T>& here) {
      return on_cpu ? there.data() : here.data();
    };
    const std::vector<float> x =
        pack<float>(n_hits, {column(hits.r_scaled, nodes[0]), column(hits.phi_scaled, nodes[1]),
                             column(hits.z_scaled, nodes[2])});
    std::vector<std::int64_t> edge_index;
    edge_index.reserve(2 * n_edges);
    for (const std::int64_t* end : {column(edges.source, ends[0]), column(edges.target, ends[1])}) {
      edge_index.insert(edge_index.end(), end, end + n_edges);
    }
    copied_ += edge_index.size() * sizeof(std::int64_t);
    std::vector<float> edge_attr;
    if (with_edge_columns_) {
      edge_attr =
          pack<float>(n_edges, {column(edges.dr, features[0]), column(edges.dphi, features[1]),
                                column(edges.dz, features[2]), column(edges.dR, features[3])});
    }
    std::vector<float> scores(n_edges);
    laps["2 pack"].push_back(watch.lap());

    Binding binding;
    binding.inputs.push_back(packed("x", x, {n_hits, 3}));
    binding.inputs.push_back(packed("edge_index", edge_index, {2, n_edges}));
    if (with_edge_columns_) binding.inputs.push_back(packed("edge_attr", edge_attr, {n_edges, 4}));
    binding.outputs.push_back(packed("score", scores, {n_edges}));
    if (!on_cpu) {
      queue_.wait();
      laps["3 to device"].push_back(watch.lap());
    }
    const CopyReport copies = model_.forward(queue_, binding);
    copied_ += copies.bytes_in + copies.bytes_out;
    queue_.wait();
    laps["4 model"].push_back(watch.lap());

    if (on_cpu) {
      std::copy(scores.begin(), scores.end(), edges.score.data());
    } else {
      copy_bytes(queue_, scores.data(), Device::cpu(), binding.outputs[0].tensor.data,
                 queue_.device(), n_edges * sizeof(float));
      queue_.wait();
      copy_bytes(queue_, edges.score.data(), queue_.device(), scores.data(), Device::cpu(),
                 n_edges * sizeof(float));
      queue_.wait();
      copied_ += n_edges * sizeof(float);
    }
    copied_ += n_edges * sizeof(float);
    laps["5 answer"].push_back(watch.lap());
    return copied_;
  }

 private:
  template <class T>
  std::vector<T> to_host(const PlainColumn<T>& column, std::size_t n) {
    std::vector<T> host(n);
    copy_bytes(queue_, host.data(), Device::cpu(), column.data(), queue_.device(), n * sizeof(T));
    copied_ += n * sizeof(T);
    return host;
  }

  template <class T>
  std::vector<T> pack(std::size_t n, std::initializer_list<const T*> columns) {
    std::vector<T> rows;
    rows.reserve(n * columns.size());
    for (std::size_t i = 0; i < n; ++i) {
      for (const T* column : columns) rows.push_back(column[i]);
    }
    copied_ += rows.size() * sizeof(T);
    return rows;
  }

  /// A row-major block over host memory, or over a copy of it on the device.
  template <class T>
  BoundBlock packed(const std::string& name, const std::vector<T>& host,
                    std::initializer_list<std::size_t> sizes) {
    BoundBlock block;
    block.name = name;
    TensorView& tensor = block.tensor;
    tensor.data = const_cast<T*>(host.data());
    tensor.dtype = kDTypeOf<T>;
    tensor.device = queue_.device();
    for (const std::size_t size : sizes)
      tensor.size_of_dim[tensor.rank++] = static_cast<std::int64_t>(size);
    make_row_major(tensor);
    if (!queue_.device().is_cpu()) {
      Buffer& buffer = buffers_[name];
      if (buffer.size() < tensor.bytes()) buffer = Buffer(queue_.device(), tensor.bytes());
      copy_bytes(queue_, buffer.data(), queue_.device(), host.data(), Device::cpu(),
                 tensor.bytes());
      copied_ += tensor.bytes();
      tensor.data = buffer.data();
    }
    return block;
  }

  const Model<>& model_;
  const Queue& queue_;
  Columns& columns_;
  bool with_edge_columns_;
  std::size_t copied_ = 0;
  std::map<std::string, Buffer> buffers_;  ///< device memory, kept as a careful user would
};

/// Appends a row for each stage and one for the whole.
void append_rows(std::vector<ResultRow>& rows, const std::string& variant,
                 const std::string& device, std::size_t n, const Laps& laps, std::size_t bytes) {
  const std::size_t repeats = laps.begin()->second.size();
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
  for (const auto& [stage, times] : laps) {
    rows.push_back(row_of(stage.substr(2), times));
    for (std::size_t i = 0; i < repeats; ++i) totals[i] += times[i];
  }
  rows.push_back(row_of("total", totals));
  rows.back().bytes_copied = bytes;
}

}  // namespace

std::vector<ResultRow> bench_path(const BenchOptions& options) {
  const Queue queue(parse_device(options.device));
  const Model<> model(require_model(options.model));
  const track::EdgeScorer check(model, queue);  // refuses a model that does not take these columns
  const bool with_edge_columns = model.deploy(queue.device()).inputs.size() >= 3;
  const std::string packing = queue.device().is_cpu() ? "pack" : "host_roundtrip";
  std::vector<ResultRow> rows;
  track::GraphBuilder builder;
  for (const track::EventSource& source : track::find_events(options.inputs)) {
    track::Event event = source.read();
    const PortableCollection<Edge>& edges = builder.build(event.hits.view());
    if (edges.size() == 0) continue;
    Columns columns = columns_on(queue, event.hits, edges);
    DirectRoad direct(model, queue, columns, with_edge_columns);
    PackingRoad packed(model, queue, columns, with_edge_columns);
    Laps direct_laps;
    Laps packed_laps;
    std::size_t direct_bytes = 0;
    std::size_t packed_bytes = 0;
    for (int i = 0; i < options.repeats + kWarmUps; ++i) {  // in turns, in both orders
      if (i % 2 == 0) direct_bytes = direct.run(direct_laps);
      packed_bytes = packed.run(packed_laps);
      if (i % 2 == 1) direct_bytes = direct.run(direct_laps);
    }
    const std::string device = to_string(queue.device());
    append_rows(rows, packing, device, edges.size(), packed_laps, packed_bytes);
    const double baseline = rows.back().timing->median_us;
    append_rows(rows, "jit_copy", device, edges.size(), direct_laps, direct_bytes);
    rows.back().baseline = packing;
    rows.back().ratio = baseline / rows.back().timing->median_us;
  }
  if (rows.empty())
    throw InputError("bench path: no event has candidate edges; nothing to measure");
  return rows;
}

}  // namespace tensoa::tools
