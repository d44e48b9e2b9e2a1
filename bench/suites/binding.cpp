// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/harness.hpp"
#include "bench/model_of_anything.hpp"
#include "bench/packing_baseline.hpp"
#include "bench/suites/suites.hpp"
#include "bench/tensor_cost.hpp"
#include "tensoa/engine/plan.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa::bench {
namespace {

// The blocks that are bound.

template <template <class> class F>
struct Columns1 {
  F<float> a;
};
template <template <class> class F>
struct Columns3 {
  F<float> a, b, c;
};
template <template <class> class F>
struct Columns16 {
  F<float> a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7;
};
template <template <class> class F>
struct Columns64 {
  F<float> a0, a1, a2, a3, a4, a5, a6, a7, b0, b1, b2, b3, b4, b5, b6, b7;
  F<float> c0, c1, c2, c3, c4, c5, c6, c7, d0, d1, d2, d3, d4, d5, d6, d7;
  F<float> e0, e1, e2, e3, e4, e5, e6, e7, f0, f1, f2, f3, f4, f5, f6, f7;
  F<float> g0, g1, g2, g3, g4, g5, g6, g7, h0, h1, h2, h3, h4, h5, h6, h7;
};

/// One input and one output tensor, each over all columns of its collection.
template <template <template <class> class> class Layout>
struct OneBlock {
  static constexpr const char* kRebind = "rebind";  ///< per tensor
  static constexpr std::size_t kColumns = kFieldCount<Layout>;
  static constexpr double kParts = 2;  ///< by which a figure of rebinding is divided: tensors

  PortableCollection<Layout> in, out;

  OneBlock(std::size_t n, Device device) : in(n, device), out(n, device) {}

  auto collections() { return std::tie(in, out); }
  auto inputs() { return std::tie(in); }
  auto views() { return std::tuple(in.const_view(), out.view()); }

  auto metadata() {
    return ModelMetadata(bind("columns", in.const_view()), bind("columns", out.view()));
  }
};

template <template <class> class F>
struct Hit {
  F<float> r, phi, z;
  F<Vector<float, 3>> direction;
  F<Matrix<float, 2, 2>> covariance;
  F<std::int32_t> volume, layer, module;
  F<Scalar<float>> field;
};
template <template <class> class F>
struct Edge {
  F<std::int64_t> source, target;
  F<float> dr, dphi, dz, dR, slope, curvature, length;
  F<bool> is_used;
};
template <template <class> class F>
struct Track {
  F<double> d0, z0, phi, theta, q_over_p, time;
};
template <template <class> class F>
struct Answer {
  F<Half> fake, light, charm, bottom, tau;
};

/// Ten tensors over 30 columns of four layouts, of every kind and six dtypes.
struct WholeEvent {
  static constexpr const char* kRebind = "rebind_event";  ///< all of it
  static constexpr std::size_t kColumns = 30;
  static constexpr double kParts = 1;

  PortableCollection<Hit> hits;
  PortableCollection<Edge> edges;
  PortableCollection<Track> tracks;
  PortableCollection<Answer> answers;

  WholeEvent(std::size_t n, Device device)
      : hits(n, device), edges(n, device), tracks(n, device), answers(n, device) {}

  auto collections() { return std::tie(hits, edges, tracks, answers); }
  auto inputs() { return std::tie(hits, edges, tracks); }
  auto views() {
    return std::tuple(hits.const_view(), edges.const_view(), tracks.const_view(), answers.view());
  }

  auto metadata() {
    const auto hit = hits.const_view().records();
    const auto edge = edges.const_view().records();
    const auto track = tracks.const_view().records();
    const auto answer = answers.view().records();
    SoAMetadata<Hit, Edge, Track> inputs(hits.size(), edges.size(), tracks.size());
    inputs.append_block("x", hit.r(), hit.phi(), hit.z());
    inputs.append_block("direction", hit.direction());
    inputs.append_block("covariance", hit.covariance());
    inputs.append_block("place", hit.volume(), hit.layer(), hit.module());
    inputs.append_block("field", hit.field());
    inputs.append_block(BlockShape::kColumns, "edge_index", edge.source(), edge.target());
    inputs.append_block("edge_attr", edge.dr(), edge.dphi(), edge.dz(), edge.dR(), edge.slope(),
                        edge.curvature(), edge.length());
    inputs.append_block("is_used", edge.is_used());
    inputs.append_block("track", track.d0(), track.z0(), track.phi(), track.theta(),
                        track.q_over_p(), track.time());
    SoAMetadata<Answer> outputs(answers.size());
    outputs.append_block("answer", answer.fake(), answer.light(), answer.charm(), answer.bottom(),
                         answer.tau());
    return ModelMetadata(inputs, outputs);
  }
};

/// The compiler must take `value` for used and all memory for changed.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

/// Bytes of the tensors that do not lie in the collections that they are bound to.
template <class Event>
std::size_t bytes_elsewhere(const Binding& binding, Event& event) {
  const auto lies_in = [](const TensorView& tensor, const auto& collection) {
    const auto* const data = static_cast<const std::byte*>(tensor.data);
    return collection.data() <= data && data < collection.data() + collection.bytes();
  };
  std::size_t bytes = 0;
  for (const auto* blocks : {&binding.inputs, &binding.outputs}) {
    for (const BoundBlock& block : *blocks) {
      const bool is_there = std::apply(
          [&](const auto&... collection) { return (lies_in(block.tensor, collection) || ...); },
          event.collections());
      if (!is_there) bytes += block.tensor.bytes();
    }
  }
  return bytes;
}

std::vector<Variant> packing(PackingBaseline& baseline, const Queue& queue,
                             const std::string& name) {
  return {{.name = name, .run = [&](std::size_t calls) {
             std::size_t copied = 0;
             for (std::size_t i = 0; i < calls; ++i) {
               copied = baseline.to_host() + baseline.pack() + baseline.to_device();
               queue.wait();
             }
             return copied;
           }}};
}

/// The views of the collections, and a plan that is bound to two events by turns.
template <class Event>
std::vector<Variant> rebindings(Event& first, Event& second, const std::string& baseline) {
  const auto make_views = [&](std::size_t calls) {
    for (std::size_t i = 0; i < calls; ++i) keep(first.views());
    return std::size_t{0};
  };
  const auto rebind = [&, plan = model_of_anything().plan(first.metadata()),
                       views_of_first = first.views(),
                       views_of_second = second.views()](std::size_t calls) mutable {
    const auto to = [&](const auto&... view) { plan.rebind(view...); };
    for (std::size_t i = 0; i < calls; ++i) {
      std::apply(to, i % 2 == 0 ? views_of_second : views_of_first);
      keep(plan);
    }
    return bytes_elsewhere(plan.binding(), calls % 2 == 0 ? first : second);
  };
  return {{.name = "view", .run = make_views, .parts = Event::kParts},
          {.name = Event::kRebind, .run = rebind, .baseline = baseline, .parts = Event::kParts}};
}

/// A torch tensor over each one that is bound.
std::vector<Variant> tensor_makings(const Binding& binding) {
  const auto make = [&binding](TensorMaking making) {
    return [&binding, making](std::size_t calls) {
      std::size_t copied = 0;
      for (const auto* blocks : {&binding.inputs, &binding.outputs}) {
        for (const BoundBlock& block : *blocks) copied += make_tensors(making, block.tensor, calls);
      }
      return copied;
    };
  };
  const auto tensors = static_cast<double>(binding.inputs.size() + binding.outputs.size());
  return {{.name = "from_blob", .run = make(TensorMaking::kFromBlob), .parts = tensors},
          {.name = "from_blob_query",
           .run = make(TensorMaking::kFromBlobQuery),
           .baseline = "from_blob",
           .parts = tensors},
          {.name = "bind",
           .run = make(TensorMaking::kBind),
           .baseline = "from_blob",
           .parts = tensors}};
}

template <class Event>
void measure(std::vector<ResultRow>& rows, const Queue& queue, std::size_t n, int repeats) {
  constexpr int kShortRuns = 20;    // a repeat, of what takes nanoseconds
  constexpr double kShortest = 20;  // us, of a batch
  const std::size_t first_row = rows.size();
  const auto run = [&](std::vector<Variant> variants, int turns) {
    run_in_turns(variants, turns, kShortest);
    for (Variant& variant : variants) {
      ResultRow& row = rows.emplace_back();
      row.variant = variant.name;
      row.device = to_string(queue.device());
      row.n = n;
      row.columns = Event::kColumns;
      row.timing = summarize(std::move(variant.times));
      row.bytes_copied = variant.bytes_copied;
      row.baseline = variant.baseline;
    }
  };
  Event first(n, queue.device());
  Event second(n, queue.device());
  const auto touch = [&](auto&... input) { (zero_bytes(queue, input.data(), input.bytes()), ...); };
  std::apply(touch, first.inputs());
  queue.wait();

  const std::string baseline = queue.device().is_cpu() ? "pack" : "host_roundtrip";
  const ModelMetadata metadata = first.metadata();
  PackingBaseline packs(queue, metadata.binding());
  run(packing(packs, queue, baseline), repeats);
  run(tensor_makings(metadata.binding()), kShortRuns * repeats);
  run(rebindings(first, second, baseline), kShortRuns * repeats);

  set_ratios(rows, first_row);
}

}  // namespace

std::vector<ResultRow> bench_binding(const BenchOptions& options) {
  require_torch();
  std::vector<Queue> queues{Queue(Device::cpu())};
  if (const Device device = parse_device(options.device); !device.is_cpu())
    queues.emplace_back(device);
  std::vector<ResultRow> rows;
  for (const Queue& queue : queues) {
    for (const std::size_t n : options.rows) {
      measure<OneBlock<Columns1>>(rows, queue, n, options.repeats);
      measure<OneBlock<Columns3>>(rows, queue, n, options.repeats);
      measure<OneBlock<Columns16>>(rows, queue, n, options.repeats);
      measure<OneBlock<Columns64>>(rows, queue, n, options.repeats);
      measure<WholeEvent>(rows, queue, n, options.repeats);
    }
  }
  return rows;
}

}  // namespace tensoa::bench
