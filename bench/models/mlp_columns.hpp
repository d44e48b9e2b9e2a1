// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensoa/engine/model_metadata.hpp"
#include "tensoa/soa/view.hpp"

/// @file
/// The columns of the multi-layer perceptron that benchmarks and tests run, float32.

namespace tensoa::bench {

template <template <class> class F>
struct Points {
  F<float> x, y, z;
};
template <template <class> class F>
struct Answers {
  F<float> m, n;
};

inline ModelMetadata<Points, Answers> mlp_metadata(ConstView<Points> points,
                                                   View<Answers> answers) {
  SoAMetadata<Points> inputs(points.size());
  inputs.append_block("features", points.records().x(), points.records().y(), points.records().z());
  SoAMetadata<Answers> outputs(answers.size());
  outputs.append_block("preds", answers.records().m(), answers.records().n());
  return {inputs, outputs};
}

}  // namespace tensoa::bench
