// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: (no matching function for call to .*|deduction of template arguments of .)ModelMetadata
#include "tensoa/engine/model_metadata.hpp"
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Hit {
  F<float> x, y;
};

template <template <class> class F>
struct Edge {
  F<float> score;
};

void use(tensoa::PortableCollection<Hit>& hits, tensoa::PortableCollection<Edge>& edges) {
  tensoa::ModelMetadata metadata(hits, edges);
}
