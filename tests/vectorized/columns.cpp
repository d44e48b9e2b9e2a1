// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/soa/view.hpp"

template <template <class> class F>
struct Point {
  F<float> x, y, z;
};

void kernel(float a, tensoa::View<Point> v) {
  for (std::size_t i = 0; i < v.size(); ++i) {
    v.z[i] = a * v.x[i] + v.y[i];
  }
}
