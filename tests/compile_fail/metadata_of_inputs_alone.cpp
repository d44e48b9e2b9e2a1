// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: (no matching function for call to .*|deduction of template arguments of .)ModelMetadata
#include "tensoa/engine/model_metadata.hpp"

template <template <class> class F>
struct Hit {
  F<float> x, y;
};

void use(const tensoa::SoAMetadata<Hit>& inputs) { tensoa::ModelMetadata metadata(inputs); }
