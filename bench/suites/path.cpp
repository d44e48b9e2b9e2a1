// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <barrier>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <deque>
#include <filesystem>
#include <functional>
#include <future>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/harness.hpp"
#include "bench/packing_baseline.hpp"
#include "bench/peers/onnxruntime.hpp"
#include "bench/suites/suites.hpp"
#include "cli/generated_columns.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/events/edge_scorer.hpp"
#include "tensoa/merge/device_event.hpp"
#include "tensoa/merge/edge_network.hpp"
#include "tensoa/merge/event_source.hpp"
#include "tensoa/package/inspect.hpp"
#include "tensoa/track/edge_scorer.hpp"
#include "tensoa/track/event_source.hpp"
#include "tensoa/track/graph_builder.hpp"

namespace tensoa::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kWarmUps = 2;

// The columns that the models run on.

/// Columns on the device of a queue, bound as the models read and write them.
class Case {
 public:
  Case() = default;
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;
  virtual ~Case() = default;

  virtual const Binding& binding() const = 0;
  /// Binds the columns again, as for a new event.
  virtual void rebind(Planned&) const {}
};

/// Rows of any package, with generated numbers.
class RowsCase final : public Case {
 public:
  RowsCase(const package::ModelDescription& model, std::size_t rows, const Queue& queue)
      : columns_(model, rows, /*offset=*/0, /*seed=*/1, queue) {}

  const Binding& binding() const override { return columns_.binding(); }

 private:
  cli::GeneratedColumns columns_;
};

template <template <template <class> class> class Layout>
using Collection = PortableCollection<Layout>;

/// Puts the rows of `from` after the first `rows` rows of `to`; both on the host.
template <template <template <class> class> class Layout>
void append(const Collection<Layout>& from, Collection<Layout>& to, std::size_t rows) {
  const auto targets = column_records(to.view());
  for (const ColumnRecord& column : column_records(from.const_view())) {
    const std::size_t size = column.info.element_size();
    const auto* source = static_cast<const std::byte*>(column.data);
    auto* target = static_cast<std::byte*>(targets[column.field].data) + rows * size;
    for (std::size_t plane = 0; plane < column.info.planes(); ++plane) {
      std::memcpy(target + plane * targets[column.field].pitch * size,
                  source + plane * column.pitch * size, from.size() * size);
    }
  }
}

/// A graph network over the nodes and edges of events: a batch of equal ones.
template <template <template <class> class> class Node,
          template <template <class> class> class Edge, class Network>
class GraphCase final : public Case {
 public:
  /// @param nodes, edges of one event, on the host
  GraphCase(const Collection<Node>& nodes, const Collection<Edge>& edges, std::size_t events,
            std::size_t arguments, const Queue& queue)
      : nodes_(nodes.size() * events, queue.device()),
        edges_(edges.size() * events, queue.device()),
        metadata_(
            Network::bind(arguments, nodes_.const_view(), edges_.const_view(), edges_.view())),
        inputs_(nodes_.const_view()),
        edge_inputs_(edges_.const_view()),
        outputs_(edges_.view()) {
    Collection<Node> all_nodes(nodes_.size(), Device::cpu());
    Collection<Edge> all_edges(edges_.size(), Device::cpu());
    for (std::size_t event = 0; event < events; ++event) {
      append(nodes, all_nodes, event * nodes.size());
      append(edges, all_edges, event * edges.size());
      const auto first_node = static_cast<std::int64_t>(event * nodes.size());
      const View<Edge> edge = all_edges.view();
      for (std::size_t i = event * edges.size(); i < (event + 1) * edges.size(); ++i) {
        edge.source[i] += first_node;
        edge.target[i] += first_node;
      }
    }
    copy(queue, all_nodes, nodes_);
    copy(queue, all_edges, edges_);
    queue.wait();
  }

  const Binding& binding() const override { return metadata_.binding(); }

  void rebind(Planned& plan) const override {
    const ViewReference views[] = {reference_to<Node>(inputs_), reference_to<Edge>(edge_inputs_),
                                   reference_to<Edge>(outputs_)};
    tensoa::rebind(plan, views);
  }

 private:
  Collection<Node> nodes_;
  Collection<Edge> edges_;
  ModelMetadata<Node, Edge, Edge> metadata_;
  ConstView<Node> inputs_;
  ConstView<Edge> edge_inputs_;
  View<Edge> outputs_;
};

// The ways from the columns to the answer.

/// The stages of one call, or the call as a whole: the end of a stage waits for the device.
class Laps {
 public:
  Laps(const Queue& queue, bool by_stage)
      : queue_(queue),
        by_stage_(by_stage),
        watch_(queue.device().is_cpu() ? thread_clock : wall_clock) {}

  void end(const char* stage) {
    if (!by_stage_) return;
    queue_.wait();
    stages_.emplace_back(stage, watch_.lap());
  }

  double end_all() {
    queue_.wait();
    return watch_.lap();
  }

  const std::vector<std::pair<std::string, double>>& stages() const { return stages_; }

 private:
  const Queue& queue_;
  bool by_stage_;
  std::vector<std::pair<std::string, double>> stages_;
  Stopwatch watch_;
};

/// One way, and what it took.
struct Way {
  std::string model;
  std::string name;
  std::function<std::size_t(Laps&)> run;  ///< @return bytes copied
  std::size_t bytes_copied = 0;
  float difference = 0;  ///< the largest of an answer from the first way's; NaN counts as infinite
  std::vector<double> totals = {};
  std::vector<std::pair<std::string, std::vector<double>>> stages = {};

  void add(double total, const Laps& laps) {
    totals.push_back(total);
    stages.resize(laps.stages().size());
    for (std::size_t i = 0; i < stages.size(); ++i) {
      stages[i].first = laps.stages()[i].first;
      stages[i].second.push_back(laps.stages()[i].second);
    }
  }
};

constexpr const char* kInPlace = "in_place";

std::size_t bytes_of(const CopyReport& copies) { return copies.bytes_in + copies.bytes_out; }

/// The model on the columns where they lie.
std::function<std::size_t(Laps&)> in_place(const AnyModel& model, const Queue& queue,
                                           const Case& columns) {
  return [&, plan = model.plan(columns.binding())](Laps& laps) mutable {
    columns.rebind(plan);
    laps.end("bind");
    const std::size_t copied = bytes_of(model.run(queue, plan));
    laps.end("model");
    return copied;
  };
}

/// The form of packed blocks for the model: rows, unless it refuses them.
Packed form_for(const AnyModel& model, Binding binding) {
  for (auto* blocks : {&binding.inputs, &binding.outputs}) {
    for (BoundBlock& block : *blocks) make_row_major(block.tensor);
  }
  try {
    model.plan(binding);
    return Packed::kRows;
  } catch (const BindingError&) {
    return Packed::kPlanes;
  }
}

/// The model on packed blocks, packed by the host.
std::function<std::size_t(Laps&)> packed(const AnyModel& model, const Queue& queue,
                                         const std::shared_ptr<PackingBaseline>& blocks) {
  return
      [&, blocks, plan = model.plan(blocks->rows()), on_cpu = queue.device().is_cpu()](Laps& laps) {
        std::size_t copied = 0;
        if (!on_cpu) {
          copied += blocks->to_host();
          laps.end("to host");
        }
        copied += blocks->pack();
        laps.end("pack");
        if (!on_cpu) {
          copied += blocks->to_device();
          laps.end("to device");
        }
        copied += bytes_of(model.run(queue, plan));
        laps.end("model");
        copied += blocks->bring_back();
        laps.end("answer");
        return copied;
      };
}

/// The same, packed by the device.
std::function<std::size_t(Laps&)> packed_on_device(const AnyModel& model, const Queue& queue,
                                                   const std::shared_ptr<PackingBaseline>& blocks) {
  return [&, blocks, plan = model.plan(blocks->rows())](Laps& laps) {
    std::size_t copied = blocks->pack_on_device();
    laps.end("pack");
    copied += bytes_of(model.run(queue, plan));
    laps.end("model");
    copied += blocks->unpack_on_device();
    laps.end("answer");
    return copied;
  };
}

/// ONNX Runtime on rows, packed by the same thread.
std::function<std::size_t(Laps&)> packed_for_onnxruntime(const std::string& library,
                                                         const std::string& model,
                                                         const Queue& queue,
                                                         const Binding& columns) {
  const auto rows = std::make_shared<PackingBaseline>(queue, columns);
  const auto session = std::make_shared<peers::OnnxRuntime>(library, model, rows->rows());
  return [rows, session](Laps& laps) {
    std::size_t copied = rows->pack();
    laps.end("pack");
    session->run();
    laps.end("model");
    copied += rows->bring_back();
    laps.end("answer");
    return copied;
  };
}

/// Calls `use(answer, host)` for each answer, with memory of zeros on the host that is copied in one piece.
template <class Use>
void for_each_answer(const Binding& binding, const Use& use) {
  for (const BoundBlock& block : binding.outputs) {
    TensorView host = as_planes(block.tensor, block.row_dimension());
    host.device = Device::cpu();
    std::vector<std::byte> bytes(host.bytes());
    host.data = bytes.data();
    use(block.tensor, host);
  }
}

void forget_answers(const Queue& queue, const Binding& binding) {
  for_each_answer(binding, [&](const TensorView& answer, const TensorView& zeros) {
    strided_copy(queue, answer, zeros);
    queue.wait();
  });
}

/// The answers as float32, plane after plane.
std::vector<float> answers_in(const Queue& queue, const Binding& binding) {
  std::vector<float> all;
  for_each_answer(binding, [&](const TensorView& answer, const TensorView& host) {
    strided_copy(queue, host, answer);
    queue.wait();
    TensorView numbers = host;
    numbers.dtype = DType::kF32;
    std::vector<float> floats(static_cast<std::size_t>(host.elements()));
    numbers.data = floats.data();
    strided_copy(Queue(Device::cpu()), numbers, host);
    all.insert(all.end(), floats.begin(), floats.end());
  });
  return all;
}

/// All ways over columns of one thread.
class Lane {
 public:
  Lane(const BenchOptions& options, const std::vector<AnyModel>& models, Device device,
       const std::function<std::unique_ptr<Case>(const Queue&)>& make)
      : queue_(device), columns_(make(queue_)) {
    const Binding& binding = columns_->binding();
    for (const AnyModel& model : models) {
      const std::string name = fs::path(model.location().text()).filename().string();
      ways.push_back({name, kInPlace, in_place(model, queue_, *columns_)});
      const auto blocks =
          std::make_shared<PackingBaseline>(queue_, binding, form_for(model, binding));
      ways.push_back(
          {name, device.is_cpu() ? "pack" : "host_roundtrip", packed(model, queue_, blocks)});
      if (!device.is_cpu())
        ways.push_back({name, "pack_on_device", packed_on_device(model, queue_, blocks)});
    }
    if (!options.onnxruntime.empty()) {
      const fs::path onnx = fs::path(options.models.front()).replace_extension(".onnx");
      ways.push_back({onnx.filename().string(), "pack",
                      packed_for_onnxruntime(options.onnxruntime, onnx, queue_, binding)});
    }
    compare_answers();
  }

  std::size_t n() const {
    const BoundBlock& answers = columns_->binding().outputs.front();
    return static_cast<std::size_t>(answers.tensor.size_of_dim[answers.row_dimension()]);
  }

  /// Runs all ways in turns, in both orders, with the other lanes.
  void measure(int turns, std::barrier<>& together) {
    for (int turn = 0; turn < turns; ++turn) {
      for (std::size_t i = 0; i < ways.size(); ++i) {
        Way& way = ways[turn % 2 == 0 ? i : ways.size() - 1 - i];
        together.arrive_and_wait();
        Laps whole(queue_, /*by_stage=*/false);
        way.run(whole);
        const double total = whole.end_all();
        together.arrive_and_wait();
        Laps laps(queue_, /*by_stage=*/true);
        way.run(laps);
        if (turn >= kWarmUps) way.add(total, laps);
      }
    }
  }

  std::vector<Way> ways;

 private:
  void compare_answers() {
    std::vector<float> expected;
    for (Way& way : ways) {
      forget_answers(queue_, columns_->binding());
      Laps laps(queue_, /*by_stage=*/false);
      way.bytes_copied = way.run(laps);
      laps.end_all();
      const std::vector<float> got = answers_in(queue_, columns_->binding());
      if (&way == &ways.front()) expected = got;
      for (std::size_t i = 0; i < got.size(); ++i) {
        const float distance = std::abs(got[i] - expected[i]);
        way.difference = std::isnan(distance) ? std::numeric_limits<float>::infinity()
                                              : std::max(way.difference, distance);
      }
    }
  }

  Queue queue_;
  std::unique_ptr<Case> columns_;
};

/// Of all threads together: a thread's time, shared between those that run at the same time.
/// @param time_of (lane, turn)
template <class TimeOf>
Timing timing_of(const std::deque<Lane>& lanes, const TimeOf& time_of) {
  std::vector<double> all;
  for (const Lane& lane : lanes) {
    for (std::size_t turn = 0; turn < lane.ways.front().totals.size(); ++turn)
      all.push_back(time_of(lane, turn) / static_cast<double>(lanes.size()));
  }
  return summarize(std::move(all));
}

/// Appends a row for each stage of the i-th way and one for the whole, which is compared with the
/// same model in place, turn by turn.
void append_rows(std::vector<ResultRow>& rows, const std::deque<Lane>& lanes, std::size_t i,
                 ResultRow row) {
  const std::vector<Way>& ways = lanes.front().ways;
  const Way& way = ways[i];
  row.model = way.model;
  row.variant = way.name;
  row.n = lanes.front().n();
  row.threads = static_cast<int>(lanes.size());
  for (std::size_t stage = 0; stage < way.stages.size(); ++stage) {
    row.stage = way.stages[stage].first;
    row.timing = timing_of(lanes, [=](const Lane& lane, std::size_t turn) {
      return lane.ways[i].stages[stage].second[turn];
    });
    rows.push_back(row);
  }
  row.stage = "total";
  row.timing = timing_of(
      lanes, [=](const Lane& lane, std::size_t turn) { return lane.ways[i].totals[turn]; });
  row.bytes_copied = way.bytes_copied;
  row.max_abs_error = way.difference;
  const auto in_place = static_cast<std::size_t>(
      std::ranges::find_if(
          ways,
          [&](const Way& other) { return other.model == way.model && other.name == kInPlace; }) -
      ways.begin());
  if (in_place < i) {
    const Timing saved = timing_of(lanes, [=](const Lane& lane, std::size_t turn) {
      return lane.ways[i].totals[turn] - lane.ways[in_place].totals[turn];
    });
    row.more["saved_ms"] = saved.median_us / 1000;
  } else if (in_place == i) {
    row.baseline = ways[i + 1].name;
  }
  rows.push_back(row);
}

class PathBench {
 public:
  explicit PathBench(const BenchOptions& options)
      : options_(options), device_(parse_device(options.device)) {
    for (const std::string& file : options.models)
      models_.emplace_back(file, CompilationType::kAny, ModelOptions{});
    if (!options.onnxruntime.empty() && !device_.is_cpu())
      throw ConfigError("path: --onnxruntime runs on the CPU; give --device cpu");
  }

  void run_rows() {
    const std::string& file = options_.models.front();
    const package::ModelDescription description = package::inspect(file);
    if (!description.binding) {
      throw InputError("path: " + file +
                       ": does not state which columns it reads; expected a package");
    }
    for (const std::size_t n : options_.rows) {
      if (n == 0) continue;  // nothing would run
      measure({}, [&](const Queue& queue) {
        return std::make_unique<RowsCase>(description, n, queue);
      });
    }
  }

  void run_hits() {
    track::GraphBuilder builder(track::graph_rules_of(options_.models.front()));
    for (const track::EventSource& source : track::find_events(options_.inputs)) {
      track::Event event = source.read();
      const auto& edges = builder.build(event.hits.view());
      run_graph<track::HitNetwork>("hits", event.hits, edges);
    }
  }

  void run_fragments() {
    merge::DeviceEvent graph{Queue(Device::cpu())};
    for (const merge::EventSource& source : merge::find_events(options_.inputs)) {
      merge::Event event = source.read();
      graph.start_graph(event);
      graph.finish_graph();
      run_graph<merge::EdgeNetwork>("fragments", graph.nodes(), graph.edges());
    }
  }

  std::vector<ResultRow> take() {
    if (!rows_.empty()) return std::move(rows_);
    throw InputError(options_.of == "rows"
                         ? "path: no rows; nothing to measure"
                         : "path: no event has candidate edges; nothing to measure");
  }

 private:
  template <class Network, template <template <class> class> class Node,
            template <template <class> class> class Edge>
  void run_graph(const char* nodes_name, const Collection<Node>& nodes,
                 const Collection<Edge>& edges) {
    if (edges.size() == 0) return;
    if (rows_.empty()) require_network<Network>(nodes, edges);
    const std::size_t arguments = models_.front().deploy(device_).inputs.size();
    for (const std::size_t events : options_.batch) {
      measure({{nodes_name, nodes.size() * events}, {"events", events}}, [&](const Queue& queue) {
        return std::make_unique<GraphCase<Node, Edge, Network>>(nodes, edges, events, arguments,
                                                                queue);
      });
    }
  }

  /// @throws LoadError for a model of another application
  template <class Network, template <template <class> class> class Node,
            template <template <class> class> class Edge>
  void require_network(const Collection<Node>& nodes, const Collection<Edge>& edges) {
    const Queue queue(device_);
    Collection<Node> nodes_there(nodes.size(), device_);
    Collection<Edge> edges_there(edges.size(), device_);
    copy(queue, nodes, nodes_there);
    copy(queue, edges, edges_there);
    for (const std::string& file : options_.models) {
      events::EdgeScorer<Node, Edge, Network>(Model<>(file), queue, nodes_there, edges_there);
    }
  }

  /// All ways over columns that `make` makes for each thread.
  void measure(const nlohmann::ordered_json& more,
               const std::function<std::unique_ptr<Case>(const Queue&)>& make) {
    for (const int threads : options_.threads) {
      std::deque<Lane> lanes;
      for (int i = 0; i < threads; ++i) lanes.emplace_back(options_, models_, device_, make);
      std::barrier together(threads);
      const auto run = [&](Lane& lane) {
        try {
          lane.measure(options_.repeats + kWarmUps, together);
        } catch (...) {
          together.arrive_and_drop();  // the others do not wait for it
          throw;
        }
      };
      std::vector<std::future<void>> others;
      for (std::size_t i = 1; i < lanes.size(); ++i)
        others.push_back(std::async(std::launch::async, run, std::ref(lanes[i])));
      run(lanes.front());
      for (std::future<void>& one : others) one.get();
      const std::size_t first = rows_.size();
      ResultRow row;
      row.device = to_string(device_);
      row.more = more;
      for (std::size_t i = 0; i < lanes.front().ways.size(); ++i) append_rows(rows_, lanes, i, row);
      set_ratios(rows_, first);
    }
  }

  const BenchOptions& options_;
  Device device_;
  std::vector<AnyModel> models_;
  std::vector<ResultRow> rows_;
};

}  // namespace

std::vector<ResultRow> bench_path(const BenchOptions& options) {
  PathBench bench(options);
  if (options.of == "rows") {
    bench.run_rows();
  } else if (options.of == "fragments") {
    bench.run_fragments();
  } else {
    bench.run_hits();
  }
  return bench.take();
}

}  // namespace tensoa::bench
