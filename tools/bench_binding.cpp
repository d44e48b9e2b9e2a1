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

#include "bench.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/engine/plan.hpp"
#include "tensoa/pytorch/tensor_cost.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa::tools {
namespace {

// What is bound.

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
    SoAMetadata<Layout> inputs(in.size());
    SoAMetadata<Layout> outputs(out.size());
    append_all(inputs, in.const_view().records());
    append_all(outputs, out.view().records());
    return ModelMetadata(inputs, outputs);
  }

 private:
  static void append_all(SoAMetadata<Layout>& metadata, const Records<Layout>& records) {
    detail::apply_fields<kColumns>(
        records, [&](const auto&... record) { metadata.append_block("columns", record...); });
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

// The packing roads.

template <class T>
void pack_as(const TensorView& view, void* packed) {
  // Dimensions of one element fall away, so that the inner loop is as long as it can be.
  std::array<std::int64_t, kMaxRank> sizes{1, 1, 1, 1};
  std::array<std::int64_t, kMaxRank> strides{};
  std::size_t place = kMaxRank;
  for (std::size_t dim = view.rank; dim-- > 0;) {
    if (view.size_of_dim[dim] == 1) continue;
    sizes[--place] = view.size_of_dim[dim];
    strides[place] = view.stride_of_dim[dim];
  }
  const auto* const from = static_cast<const T*>(view.data);
  auto* to = static_cast<T*>(packed);
  for (std::int64_t a = 0; a < sizes[0]; ++a) {
    for (std::int64_t b = 0; b < sizes[1]; ++b) {
      for (std::int64_t c = 0; c < sizes[2]; ++c) {
        const T* const line = from + a * strides[0] + b * strides[1] + c * strides[2];
        if (strides[3] == 1) {
          to = std::copy_n(line, sizes[3], to);
        } else {
          for (std::int64_t d = 0; d < sizes[3]; ++d) *to++ = line[d * strides[3]];
        }
      }
    }
  }
}

/// Writes the elements of a tensor in host memory one after the other, row by row. @return bytes
std::size_t pack(const TensorView& view, void* packed) {
  switch (size_of(view.dtype)) {
    case 1:
      pack_as<std::uint8_t>(view, packed);
      break;
    case 2:
      pack_as<std::uint16_t>(view, packed);
      break;
    case 4:
      pack_as<std::uint32_t>(view, packed);
      break;
    default:
      pack_as<std::uint64_t>(view, packed);
  }
  return view.bytes();
}

/// What users do without this, with all memory kept from call to call: the input columns to the
/// host, packed there, and to the device. On the CPU the two transfers fall away.
template <class Event>
class PackingRoad {
 public:
  PackingRoad(const Queue& queue, Event& event)
      : queue_(queue),
        event_(event),
        host_(queue.device().is_cpu() ? 0 : std::get<0>(event.inputs()).size(), Device::cpu()),
        source_((queue.device().is_cpu() ? event : host_).metadata()) {
    for (const BoundBlock& block : inputs()) {
      packed_.emplace_back(Device::cpu(), block.tensor.bytes());
      if (!on_cpu()) on_device_.emplace_back(queue.device(), block.tensor.bytes());
    }
  }

  /// @return bytes copied
  std::size_t run() {
    std::size_t copied = 0;
    if (!on_cpu()) {
      std::apply(
          [&](const auto&... there) {
            std::apply([&](auto&... here) { copied += (copy(queue_, there, here) + ...); },
                       host_.inputs());
          },
          event_.inputs());
      queue_.wait();
    }
    for (std::size_t i = 0; i < inputs().size(); ++i)
      copied += pack(inputs()[i].tensor, packed_[i].data());
    if (!on_cpu()) {
      for (std::size_t i = 0; i < inputs().size(); ++i) {
        const std::size_t bytes = inputs()[i].tensor.bytes();
        copy_bytes(queue_, on_device_[i].data(), queue_.device(), packed_[i].data(), Device::cpu(),
                   bytes);
        copied += bytes;
      }
      queue_.wait();
    }
    return copied;
  }

 private:
  using Metadata = decltype(std::declval<Event&>().metadata());

  bool on_cpu() const { return queue_.device().is_cpu(); }
  const std::vector<BoundBlock>& inputs() const { return source_.binding().inputs; }

  const Queue& queue_;
  Event& event_;
  Event host_;
  Metadata source_;  ///< the columns in host memory
  std::vector<Buffer> packed_;
  std::vector<Buffer> on_device_;
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

template <class Event>
std::vector<Variant> packing_roads(PackingRoad<Event>& road, const std::string& name) {
  return {{.name = name, .run = [&](std::size_t calls) {
             std::size_t copied = 0;
             for (std::size_t i = 0; i < calls; ++i) copied = road.run();
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
  const auto rebind = [&, plan = Plan(first.metadata()), views_of_first = first.views(),
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
  using pytorch::TensorMaking;
  const auto make = [&binding](TensorMaking making) {
    return [&binding, making](std::size_t calls) {
      std::size_t copied = 0;
      for (const auto* blocks : {&binding.inputs, &binding.outputs}) {
        for (const BoundBlock& block : *blocks)
          copied += pytorch::make_tensors(making, block.tensor, calls);
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
    race(variants, turns, kShortest);
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

  const std::string packing = queue.device().is_cpu() ? "pack" : "host_roundtrip";
  PackingRoad<Event> road(queue, first);
  run(packing_roads(road, packing), repeats);
  const ModelMetadata metadata = first.metadata();
  run(tensor_makings(metadata.binding()), kShortRuns * repeats);
  run(rebindings(first, second, packing), kShortRuns * repeats);

  set_ratios(rows, first_row);
}

}  // namespace

std::vector<ResultRow> bench_binding(const BenchOptions& options) {
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

}  // namespace tensoa::tools
