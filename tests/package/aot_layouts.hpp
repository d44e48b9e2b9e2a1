// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "../../bench/models/mlp_columns.hpp"
#include "tensoa/engine/model_metadata.hpp"
#include "tensoa/soa/portable_collection.hpp"

/// @file
/// The bindings of the packages of the tests: write_bindings.cpp describes these bindings to the
/// exporter, test_aot_engine.cpp runs on them.

namespace tensoa::test {

using bench::Answers;
using bench::mlp_metadata;
using bench::Points;

/// Every kind of column, at distances that differ, in and out.
template <template <class> class F>
struct Hits {
  F<float> x, y, z, w, v, u;
  F<std::int32_t> layer;
  F<double> time, weight;
  F<Vector<float, 3>> direction;
  F<Matrix<float, 2, 3>> jacobian;
  F<Scalar<float>> field, offset;
};
template <template <class> class F>
struct Fits {
  F<float> a, between, b, c;
  F<Vector<float, 2>> moved;
  F<std::int64_t> id;
};
template <template <class> class F>
struct Summary {
  F<double> mean, largest;
};

/// The same for const and mutable inputs.
template <class HitView>
ModelMetadata<Hits, Fits, Summary> kinds_metadata(const HitView& hits, View<Fits> fits,
                                                  View<Summary> summary) {
  const auto hit = hits.records();
  const auto fit = fits.records();
  SoAMetadata<Hits> inputs(hits.size());
  inputs.append_block(Repack{}, "uneven", hit.w(), hit.x(), hit.u());
  inputs.append_block("even", hit.x(), hit.z(), hit.v());
  inputs.append_block(BlockShape::kColumns, "times", hit.time(), hit.weight());
  inputs.append_block("layer", hit.layer());
  inputs.append_block("direction", hit.direction());
  inputs.append_block("jacobian", hit.jacobian());
  inputs.append_block("constants", hit.field(), hit.offset());
  SoAMetadata<Fits, Summary> outputs(fits.size(), summary.size());
  outputs.append_block(Repack{}, "abc", fit.a(), fit.b(), fit.c());
  outputs.append_block("moved", fit.moved());
  outputs.append_block("id", fit.id());
  outputs.append_block("summary", summary.records().mean(), summary.records().largest());
  return {inputs, outputs};
}

/// Two lengths, arguments and results by name.
template <template <class> class F>
struct Nodes {
  F<float> charge, mass, total;
};
template <template <class> class F>
struct Links {
  F<std::int64_t> source, target;
  F<float> product;
};

inline ModelMetadata<Nodes, Links, Nodes, Links> graph_metadata(View<Nodes> nodes,
                                                                View<Links> links) {
  SoAMetadata<Nodes, Links> inputs(nodes.size(), links.size());
  inputs.append_block(BlockShape::kColumns, "edge_index", links.records().source(),
                      links.records().target());
  inputs.append_block("x", nodes.records().charge(), nodes.records().mass());
  SoAMetadata<Nodes, Links> outputs(nodes.size(), links.size());
  outputs.append_block("product", links.records().product());
  outputs.append_block("total", nodes.records().total());
  return {inputs, outputs, Match::kByName};
}

}  // namespace tensoa::test
