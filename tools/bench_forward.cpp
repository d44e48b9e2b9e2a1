// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "forward_cases.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/core/output_file.hpp"
#include "tensoa/engine/describe.hpp"
#include "tensoa/track/event_source.hpp"
#include "tensoa/track/graph_builder.hpp"

namespace tensoa::tools {
namespace {

using track::Edge;
using track::Hit;

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

/// Waits once after many calls (throughput), or after each (what one event waits for).
enum class Waits { kOnce, kEach };

template <class Case>
void measure(std::vector<ResultRow>& rows, Case& work, const ForwardFiles& files,
             const Queue& queue, int repeats) {
  // On the CPU short batches, which other processes of the machine seldom interrupt.
  const double shortest = queue.device().is_cpu() ? 200 : 2000;  // us, of a batch
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
    if (!queue.device().is_cpu()) {
      variants.push_back(
          {.name = "aot_graph", .run = forward(files.aot_graph, waits), .baseline = "jit_copy"});
    }
    race(variants, repeats, shortest);
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
  const auto write = [&](const char* model, const auto& plan) {
    write_file(to / (std::string(model) + ".json"), to_json(description_of(plan.binding())));
  };
  write(MlpCase::kModel, plan_mlp(points.const_view(), answers.view()));
  for (const GraphModel& model : kGraphModels) {
    write(model.name, track::plan_edge_network(model.takes_edge_columns, hits.const_view(),
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
    throw InputError(
        "bench forward: no rows and no event with candidate edges; nothing to measure");
  }
  return rows;
}

}  // namespace tensoa::tools
