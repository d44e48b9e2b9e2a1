// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "float64.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/core/output_file.hpp"
#include "tensoa/engine/describe.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/track/edge_scorer.hpp"
#include "tensoa/track/event_source.hpp"
#include "tensoa/track/graph_builder.hpp"
#include "tensoa/track/random.hpp"

namespace tensoa::tools {
namespace {

using track::Edge;
using track::Hit;

// ---- what is run

template <template <class> class F>
struct Points {
  F<float> x, y, z;
};
template <template <class> class F>
struct Answers {
  F<float> m, n;
};
template <template <class> class F>
struct Points64 {
  F<double> x, y, z;
};
template <template <class> class F>
struct Answers64 {
  F<double> m, n;
};

/// The plan of the multi-layer perceptron, in float32 or float64.
template <class In, class Out>
auto plan_mlp(const In& in, const Out& out) {
  const auto point = in.records();
  const auto answer = out.records();
  const auto blocks = [](auto metadata, const char* name, const auto&... records) {
    metadata.append_block(name, records()...);
    return metadata;
  };
  if constexpr (std::is_same_v<Out, View<Answers>>) {
    return Plan(
        ModelMetadata(blocks(SoAMetadata<Points>(in.size()), "features", point.x, point.y, point.z),
                      blocks(SoAMetadata<Answers>(out.size()), "preds", answer.m, answer.n)));
  } else {
    return Plan(ModelMetadata(
        blocks(SoAMetadata<Points64>(in.size()), "features", point.x, point.y, point.z),
        blocks(SoAMetadata<Answers64>(out.size()), "preds", answer.m, answer.n)));
  }
}

/// Columns of float32 in host memory, wherever they came from.
std::vector<float> on_host(const Queue& queue, std::initializer_list<const float*> columns,
                           std::size_t n) {
  std::vector<float> numbers(columns.size() * n);
  std::size_t column = 0;
  for (const float* from : columns) {
    copy_bytes(queue, numbers.data() + n * column++, Device::cpu(), from, queue.device(),
               n * sizeof(float));
  }
  queue.wait();
  return numbers;
}

/// The multi-layer perceptron 3-64-64-2 over n rows.
class MlpCase {
 public:
  static constexpr const char* kModel = "mlp";

  MlpCase(std::size_t n, const Queue& queue)
      : queue_(queue),
        host_(n, Device::cpu()),
        points_(n, queue.device()),
        answers_(n, queue.device()) {
    track::Random random(n);
    const View<Points> point = host_.view();
    for (std::size_t i = 0; i < n; ++i) {
      for (const auto& column : {point.x, point.y, point.z}) {
        column[i] = static_cast<float>(random.uniform(-2, 2));
      }
    }
    copy(queue, host_, points_);
    queue.wait();
  }

  std::size_t size() const { return points_.size(); }
  auto plan() { return plan_mlp(points_.const_view(), answers_.view()); }
  void rebind(Plan<Points, Answers>& plan) { plan.rebind(points_.const_view(), answers_.view()); }

  std::vector<float> answer() const {
    const ConstView<Answers> answer = answers_.const_view();
    return on_host(queue_, {answer.m.data(), answer.n.data()}, size());
  }
  void forget() { zero_bytes(queue_, answers_.data(), answers_.bytes()); }

  std::vector<double> truth(const Model<>& model64) const {
    PortableCollection<Points64> points(size(), Device::cpu());
    PortableCollection<Answers64> answers(size(), Device::cpu());
    const View<Points64> to = points.view();
    const ConstView<Points> from = host_.const_view();
    std::copy_n(from.x.data(), size(), to.x.data());
    std::copy_n(from.y.data(), size(), to.y.data());
    std::copy_n(from.z.data(), size(), to.z.data());
    model64.forward(Queue(Device::cpu()), plan_mlp(points.const_view(), answers.view()));
    const View<Answers64> answer = answers.view();
    std::vector<double> numbers(answer.m.data(), answer.m.data() + size());
    numbers.insert(numbers.end(), answer.n.data(), answer.n.data() + size());
    return numbers;
  }

 private:
  const Queue& queue_;
  PortableCollection<Points> host_;
  PortableCollection<Points> points_;
  PortableCollection<Answers> answers_;
};

/// The graph network over the candidate edges of an event.
class GraphCase {
 public:
  static constexpr const char* kModel = "edge_network";

  GraphCase(const PortableCollection<Hit>& hits, const PortableCollection<Edge>& edges,
            const Queue& queue)
      : queue_(queue),
        host_hits_(hits),
        host_edges_(edges),
        hits_(hits.size(), queue.device()),
        edges_(edges.size(), queue.device()) {
    copy(queue, hits, hits_);
    copy(queue, edges, edges_);
    queue.wait();
  }

  std::size_t size() const { return edges_.size(); }
  auto plan() {
    return track::plan_edge_network(/*takes_edge_columns=*/true, hits_.const_view(),
                                    edges_.const_view(), edges_.view());
  }
  void rebind(Plan<Hit, Edge, Edge>& plan) {
    plan.rebind(hits_.const_view(), edges_.const_view(), edges_.view());
  }

  std::vector<float> answer() const {
    return on_host(queue_, {edges_.const_view().score.data()}, size());
  }
  void forget() { zero_bytes(queue_, edges_.view().score.data(), size() * sizeof(float)); }

  std::vector<double> truth(const Model<>& model64) const {
    return scores_in_float64(model64, host_hits_.const_view(), host_edges_.const_view());
  }

 private:
  const Queue& queue_;
  const PortableCollection<Hit>& host_hits_;
  const PortableCollection<Edge>& host_edges_;
  PortableCollection<Hit> hits_;
  PortableCollection<Edge> edges_;
};

// ---- the road without this library

/// What users do without this, with all memory kept from call to call: columns to the host, packed
/// row by row, to the device, TorchScript, and the same back. On the CPU the transfers fall away.
class PackingRoad {
 public:
  PackingRoad(const Model<>& model, const Queue& queue, const Binding& columns)
      : model_(model), queue_(queue), columns_(columns), packed_(columns) {
    for (std::vector<BoundBlock>* blocks : {&packed_.inputs, &packed_.outputs}) {
      for (BoundBlock& block : *blocks) {
        TensorView& tensor = block.tensor;
        columns_in_host_.emplace_back(Device::cpu(), on_cpu() ? 0 : tensor.bytes());
        rows_in_host_.emplace_back(Device::cpu(), tensor.bytes());
        rows_.emplace_back(queue.device(), on_cpu() ? 0 : tensor.bytes());
        tensor.data = (on_cpu() ? rows_in_host_ : rows_).back().data();
        tensor.stride_of_dim = {tensor.size_of_dim[1], 1};
        block.is_evenly_spaced = false;
        block.lease = {};
      }
    }
  }

  /// @return bytes copied
  std::size_t run() {
    std::size_t copied = 0;
    std::size_t place = 0;
    for (const BoundBlock& block : columns_.inputs) copied += to_host(block, place++);
    if (!on_cpu()) queue_.wait();
    place = 0;
    for (const BoundBlock& block : columns_.inputs) {
      copied += repack(block, place, /*to_rows=*/true);
      if (!on_cpu()) {
        copied += move(rows_[place].data(), queue_.device(), rows_in_host_[place].data(),
                       Device::cpu(), block.tensor.bytes());
      }
      ++place;
    }
    const CopyReport report = model_.forward(queue_, packed_);
    copied += report.bytes_in + report.bytes_out;
    for (const BoundBlock& block : columns_.outputs) {
      if (!on_cpu()) {
        copied += move(rows_in_host_[place].data(), Device::cpu(), rows_[place].data(),
                       queue_.device(), block.tensor.bytes());
        queue_.wait();
      }
      copied += repack(block, place, /*to_rows=*/false);
      copied += from_host(block, place++);
    }
    queue_.wait();
    return copied;
  }

 private:
  bool on_cpu() const { return queue_.device().is_cpu(); }

  std::size_t move(void* to, Device to_device, const void* from, Device from_device,
                   std::size_t bytes) {
    copy_bytes(queue_, to, to_device, from, from_device, bytes);
    return bytes;
  }

  static std::size_t columns_of(const BoundBlock& block) {
    return static_cast<std::size_t>(block.tensor.size_of_dim[1 - block.row_dimension()]);
  }
  static std::size_t column_bytes(const BoundBlock& block) {
    return block.tensor.bytes() / columns_of(block);
  }
  static std::byte* column(const BoundBlock& block, std::size_t i) {
    const std::int64_t step = block.tensor.stride_of_dim[1 - block.row_dimension()];
    return static_cast<std::byte*>(block.tensor.data) +
           static_cast<std::size_t>(step) * i * size_of(block.tensor.dtype);
  }
  std::byte* column_in_host(const BoundBlock& block, std::size_t place, std::size_t i) {
    return on_cpu() ? column(block, i) : columns_in_host_[place].data() + i * column_bytes(block);
  }

  std::size_t to_host(const BoundBlock& block, std::size_t place) {
    std::size_t copied = 0;
    for (std::size_t i = 0; !on_cpu() && i < columns_of(block); ++i) {
      copied += move(column_in_host(block, place, i), Device::cpu(), column(block, i),
                     queue_.device(), column_bytes(block));
    }
    return copied;
  }
  std::size_t from_host(const BoundBlock& block, std::size_t place) {
    std::size_t copied = 0;
    for (std::size_t i = 0; !on_cpu() && i < columns_of(block); ++i) {
      copied += move(column(block, i), queue_.device(), column_in_host(block, place, i),
                     Device::cpu(), column_bytes(block));
    }
    return copied;
  }

  std::size_t repack(const BoundBlock& block, std::size_t place, bool to_rows) {
    if (size_of(block.tensor.dtype) == sizeof(std::uint64_t)) {
      return repack_as<std::uint64_t>(block, place, to_rows);
    }
    return repack_as<std::uint32_t>(block, place, to_rows);
  }
  template <class T>
  std::size_t repack_as(const BoundBlock& block, std::size_t place, bool to_rows) {
    const std::size_t k = columns_of(block);
    const std::size_t n = column_bytes(block) / sizeof(T);
    auto* const rows = reinterpret_cast<T*>(rows_in_host_[place].data());
    const bool is_transposed = block.shape == BlockShape::kColumns;
    const std::size_t step = is_transposed ? 1 : k;
    for (std::size_t i = 0; i < k; ++i) {
      auto* const numbers = reinterpret_cast<T*>(column_in_host(block, place, i));
      T* const place_in_rows = rows + (is_transposed ? i * n : i);
      if (to_rows) {
        for (std::size_t row = 0; row < n; ++row) place_in_rows[row * step] = numbers[row];
      } else {
        for (std::size_t row = 0; row < n; ++row) numbers[row] = place_in_rows[row * step];
      }
    }
    return block.tensor.bytes();
  }

  const Model<>& model_;
  const Queue& queue_;
  Binding columns_;
  Binding packed_;
  std::vector<Buffer> columns_in_host_;  ///< of each block; of the inputs, then of the outputs
  std::vector<Buffer> rows_in_host_;
  std::vector<Buffer> rows_;
};

// ---- measuring

/// The files of one model for one device.
struct Files {
  Files(const std::string& folder, const std::string& model, const Queue& queue)
      : torchscript(file(folder, model + ".pt")),
        truth(file(folder, model + ".pt"), {.dtype = DType::kF64}),
        aot(file(folder, model + '-' + target(queue) + "-plain.pt2")),
        aot_fused(file(folder, model + '-' + target(queue) + "-fused.pt2")) {}

  Model<> torchscript, truth, aot, aot_fused;

 private:
  static std::string target(const Queue& queue) { return queue.device().is_cpu() ? "cpu" : "cuda"; }
  static std::filesystem::path file(const std::string& folder, const std::string& name) {
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    if (std::filesystem::exists(path)) return path;
    throw InputError("bench forward: " + path.string() +
                     ": there is no such file; `make bench-packages` writes it, on a machine with "
                     "a GPU also what is for CUDA");
  }
};

/// Waits once after many calls (throughput), or after each (what one event waits for).
enum class Waits { kOnce, kEach };

template <class Case>
void measure(std::vector<ResultRow>& rows, Case& work, const Files& files, const Queue& queue,
             int repeats) {
  constexpr double kShortest = 2000;  // us, of a batch
  const std::vector<double> truth = work.truth(files.truth);
  auto plan = work.plan();
  const std::string packing = queue.device().is_cpu() ? "pack" : "host_roundtrip";
  PackingRoad road(files.torchscript, queue, plan.binding());
  const auto forward = [&](const Model<>& model, Waits waits) {
    return [&, waits](std::size_t calls) {
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
    for (std::size_t i = 0; i < calls; ++i) copied = road.run();
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
    variants.push_back({.name = "aot", .run = forward(files.aot, waits), .baseline = "jit_copy"});
    variants.push_back(
        {.name = "aot_fused", .run = forward(files.aot_fused, waits), .baseline = "jit_copy"});
    race(variants, repeats, kShortest);
    const std::size_t first = rows.size();
    for (Variant& variant : variants) {
      const Errors errors = errors_after(variant);
      ResultRow& row = rows.emplace_back();
      row.model = Case::kModel;
      row.variant = variant.name;
      row.stage = waits == Waits::kOnce ? "total" : "latency";
      row.device = to_string(queue.device());
      row.n = work.size();
      row.timing = summarize(std::move(variant.times));
      row.bytes_copied = variant.bytes_copied;
      row.max_abs_error = errors.max_abs;
      row.max_rel_error = errors.relative;
      if (row.model == GraphCase::kModel) row.flips = errors.flips;
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
  const auto write = [&](const char* model, const auto& plan) {
    write_file(to / (std::string(model) + ".json"), to_json(description_of(plan.binding())));
  };
  write(MlpCase::kModel, plan_mlp(points.const_view(), answers.view()));
  write(GraphCase::kModel,
        track::plan_edge_network(true, hits.const_view(), edges.const_view(), edges.view()));
}

std::vector<ResultRow> bench_forward(const BenchOptions& options) {
  std::vector<Queue> queues{Queue(Device::cpu())};
  if (const Device device = parse_device(options.device); !device.is_cpu())
    queues.emplace_back(device);
  std::vector<ResultRow> rows;
  for (const Queue& queue : queues) {
    const Files mlp(options.packages, MlpCase::kModel, queue);
    const Files network(options.packages, GraphCase::kModel, queue);
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
      GraphCase work(event.hits, edges, queue);
      measure(rows, work, network, queue, options.repeats);
    }
  }
  if (rows.empty()) {
    throw InputError(
        "bench forward: no rows and no event with candidate edges; nothing to measure");
  }
  return rows;
}

}  // namespace tensoa::tools
