// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: no match for .*operator=.*BFloat16|no viable overloaded '='
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Hit {
  F<tensoa::BFloat16> x, y;
};

void use(tensoa::View<Hit> hits) { hits.x[0] = 1.F; }
