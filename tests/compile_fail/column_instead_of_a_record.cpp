// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: append_block takes records of one layout
#include "tensoa/soa/portable_collection.hpp"
#include "tensoa/soa/soa_metadata.hpp"

template <template <class> class F>
struct Hit {
  F<float> x, y;
};

void use(tensoa::SoAMetadata<Hit>& metadata, tensoa::View<Hit> hits) {
  metadata.append_block("x", hits.x, hits.y);
}
