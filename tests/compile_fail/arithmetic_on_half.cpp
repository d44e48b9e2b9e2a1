// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: no match for .*operator.|invalid operands to binary expression .*tensoa::Half'
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Hit {
  F<tensoa::Half> x, y;
};

float use(tensoa::View<Hit> hits) { return hits.x[0] + hits.y[0]; }
