// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: no match for .*operator=.*NoRow|no viable overloaded '='
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Hit {
  F<float> x;
  F<tensoa::Scalar<float>> field;
};

void use(tensoa::View<Hit> hits) { hits.field[0] = 1.F; }
