// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tensoa/engine/model_metadata.hpp"
#include "tensoa/soa/view.hpp"

/// @file
/// The layouts of the packages of test_foreign_columns.cpp: every kind of column and several dtypes,
/// all to be repacked, so that each may lie anywhere.

namespace tensoa::test {

template <template <class> class F>
struct Scattered {
  F<float> a, b, c;
  F<Vector<float, 3>> u, v;
  F<Matrix<float, 2, 2>> m;
  F<double> t;
  F<std::int64_t> index;
  F<Scalar<float>> s, o;
};
template <template <class> class F>
struct Found {
  F<float> p, between, q, r;
  F<Vector<float, 3>> w, x;
  F<float> k;
};

template <class InputView>
ModelMetadata<Scattered, Found> scattered_metadata(const InputView& in, View<Found> out) {
  const auto from = in.records();
  const auto to = out.records();
  SoAMetadata<Scattered> inputs(in.size());
  inputs.append_block(Repack{}, "plain", from.a(), from.a(), from.c(), from.b());
  inputs.append_block(Repack{}, "vectors", from.u(), from.v());
  inputs.append_block(Repack{}, "matrix", from.m());
  inputs.append_block(Repack{DType::kF32}, "wide", from.t());
  inputs.append_block("index", from.index());
  inputs.append_block(Repack{}, "scalars", from.s(), from.o());
  SoAMetadata<Found> outputs(out.size());
  outputs.append_block(Repack{}, "sums", to.q(), to.p(), to.r());
  outputs.append_block(Repack{}, "moved", to.w(), to.x());
  outputs.append_block("there", to.k());
  return {inputs, outputs};
}

}  // namespace tensoa::test
