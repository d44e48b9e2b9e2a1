// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// The cost of binding columns: once by name, and again for each event. Neither may depend on the
// number of rows.

#include <benchmark/benchmark.h>

#include "bench/model_of_anything.hpp"
#include "tensoa/engine/plan.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {
namespace {

template <template <class> class F>
struct Node {
  F<float> r, phi, z;
  F<std::int64_t> id;
};
template <template <class> class F>
struct Link {
  F<std::int64_t> source, target;
  F<float> dr, dphi, dz, dR;
  F<float> score;
};

constexpr double kTensors = 4;

ModelMetadata<Node, Link, Link> bind(PortableCollection<Node>& nodes,
                                     PortableCollection<Link>& links) {
  const auto node = nodes.const_view().records();
  const auto link = links.const_view().records();
  SoAMetadata<Node, Link> inputs(nodes.size(), links.size());
  inputs.append_block("x", node.r(), node.phi(), node.z());
  inputs.append_block(BlockShape::kColumns, "edge_index", link.source(), link.target());
  inputs.append_block("edge_attr", link.dr(), link.dphi(), link.dz(), link.dR());
  SoAMetadata<Link> outputs(links.size());
  outputs.append_block("score", links.view().records().score());
  return ModelMetadata(inputs, outputs);
}

void count_tensors(benchmark::State& state) {
  state.counters["per_tensor"] = benchmark::Counter(
      kTensors, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void bind_by_name(benchmark::State& state) {
  PortableCollection<Node> nodes(state.range(0), Device::cpu());
  PortableCollection<Link> links(10 * state.range(0), Device::cpu());
  for (auto _ : state) benchmark::DoNotOptimize(bind(nodes, links));
  count_tensors(state);
}

void rebind(benchmark::State& state) {
  PortableCollection<Node> nodes(state.range(0), Device::cpu());
  PortableCollection<Link> links(10 * state.range(0), Device::cpu());
  Plan plan = bench::model_of_anything().plan(bind(nodes, links));
  for (auto _ : state) {
    plan.rebind(nodes.const_view(), links.const_view(), links.view());
    benchmark::DoNotOptimize(plan.binding().outputs.data());
  }
  count_tensors(state);
}

BENCHMARK(bind_by_name)->Arg(1)->Arg(1'000)->Arg(1'000'000);
BENCHMARK(rebind)->Arg(1)->Arg(1'000)->Arg(1'000'000);

}  // namespace
}  // namespace tensoa
