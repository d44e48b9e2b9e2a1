// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: assignment of read-only location|cannot assign to non-static data member
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Point {
  F<float> x, y;
};

template <template <class> class F>
struct Hit {
  F<tensoa::Sub<Point>> position;
};

void use(tensoa::ConstView<Hit> hits) { row(hits, 0).position.x = 1.F; }
