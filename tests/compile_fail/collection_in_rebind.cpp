// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: the view is not one of the layout at its place in the ModelMetadata
#include "tensoa/engine/plan.hpp"
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Hit {
  F<float> x, y;
};

template <template <class> class F>
struct Edge {
  F<float> score;
};

void use(tensoa::Plan<Hit, Edge> plan, const tensoa::PortableCollection<Hit>& hits,
         const tensoa::PortableCollection<Edge>& edges) {
  plan.rebind(hits, edges);
}
