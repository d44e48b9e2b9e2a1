// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: no matching (member )?function for call to .*rebind
#include "tensoa/engine/plan.hpp"

template <template <class> class F>
struct Hit {
  F<float> x, y;
};

template <template <class> class F>
struct Edge {
  F<float> score;
};

void use(tensoa::Plan<Hit, Edge> plan, tensoa::View<Hit> hits) { plan.rebind(hits); }
