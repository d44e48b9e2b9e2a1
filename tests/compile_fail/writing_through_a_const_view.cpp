// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: assignment of read-only location|cannot assign to return value
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Hit {
  F<float> x, y;
};

template <template <class> class F>
struct Edge {
  F<float> score;
};

void use(tensoa::ConstView<Hit> hits) { hits.x[0] = 1.F; }
