// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: no matching function for call to .*slice
#include "tensoa/soa/slice.hpp"

template <template <class> class F>
struct Hit {
  F<float> x, y;
};

auto use(tensoa::View<Hit> hits) { return slice(hits.x, 0, 10); }
