// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: every member of a layout is a field: .* F<Sub<Point>> p, not Point<F> p
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Point {
  F<float> x, y;
};

template <template <class> class F>
struct Hit {
  Point<F> position;
  F<float> energy;
};

tensoa::PortableCollection<Hit> hits(10, tensoa::Device::cpu());
