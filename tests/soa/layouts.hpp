// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensoa/soa/fields.hpp"

namespace tensoa::test {

/// Row counts around a line of 32 floats, and none.
inline constexpr std::size_t kSizes[] = {0, 1, 31, 32, 33, 1000};

/// One field of every kind and of every element size.
template <template <class> class F>
struct Mixed {
  F<float> x, y, z;
  F<std::uint8_t> flag;
  F<std::int64_t> id;
  F<Scalar<float>> field;
  F<Vector<float, 3>> direction;
  F<Half> weight;
  F<Matrix<float, 2, 3>> covariance;
  F<std::int32_t> layer;
  F<double> energy;
  F<Scalar<double>> scale;
};

/// Plain columns and vectors of one element size; planes in layout order: a b u0 u1 c d v0 v1 e w0
/// w1 g.
template <template <class> class F>
struct Wide {
  F<float> a, b;
  F<Vector<float, 2>> u;
  F<float> c, d;
  F<Vector<float, 2>> v;
  F<float> e;
  F<Vector<float, 2>> w;
  F<float> g;
};

/// Names that the members of a view must not hide.
template <template <class> class F>
struct Outputs {
  F<float> m, n;
};

}  // namespace tensoa::test
