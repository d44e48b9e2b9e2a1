// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: no matching (member )?function for call to .*forward
#include "tensoa/engine/model.hpp"

template <template <class> class F>
struct Hit {
  F<float> x, y;
};

template <template <class> class F>
struct Edge {
  F<float> score;
};

void use(tensoa::Model<>& model, const tensoa::Plan<Hit, Edge>& plan) { model.forward(plan); }
