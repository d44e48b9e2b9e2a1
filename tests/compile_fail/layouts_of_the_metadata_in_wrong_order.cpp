// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: list the layouts of the inputs, then those of the outputs
#include "tensoa/engine/model_metadata.hpp"

template <template <class> class F>
struct Hit {
  F<float> x, y;
};

template <template <class> class F>
struct Edge {
  F<float> score;
};

void use(tensoa::SoAMetadata<Hit> inputs, tensoa::SoAMetadata<Edge> outputs) {
  tensoa::ModelMetadata<Edge, Hit> metadata(inputs, outputs);
}
