// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/soa/view.hpp"

template <template <class> class F>
struct Point {
  F<float> x;
  F<tensoa::Vector<float, 3>> direction;
};

void kernel(float a, tensoa::View<Point> v) {
  for (std::size_t i = 0; i < v.size(); ++i) {
    const auto point = tensoa::row(v, i);
    point.x = a * point.direction[0] + point.direction[2];
  }
}
