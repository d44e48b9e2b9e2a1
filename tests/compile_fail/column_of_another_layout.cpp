// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: the column belongs to a layout that is not one of this SoAMetadata
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

void use(tensoa::View<Edge> edges) {
  tensoa::SoAMetadata<Hit> metadata(10);
  metadata.append_block("score", edges.records().score());
}
