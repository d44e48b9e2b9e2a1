// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: append_block takes records of one layout
#include "tensoa/soa/portable_collection.hpp"
#include "tensoa/soa/soa_metadata.hpp"

template <template <class> class F>
struct Hit {
  F<float> x, y;
};

template <template <class> class F>
struct Edge {
  F<float> score;
};

void use(tensoa::View<Hit> hits, tensoa::View<Edge> edges) {
  tensoa::SoAMetadata<Hit, Edge> metadata(10, 10);
  metadata.append_block("mixed", hits.records().x(), edges.records().score());
}
