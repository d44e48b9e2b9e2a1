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

/// Layouts inside layouts, one of them twice and at two depths.
template <template <class> class F>
struct Point {
  F<float> x, y, z;
  F<Scalar<float>> unit;
};
template <template <class> class F>
struct Fit {
  F<Sub<Point>> begin;
  F<Vector<double, 2>> slope;
  F<Sub<Point>> end;
};
template <template <class> class F>
struct Nested {
  F<std::int32_t> charge;
  F<Sub<Point>> position;
  F<Sub<Fit>> fit;
  F<Matrix<float, 2, 3>> covariance;
};

/// The fields of Nested, written out.
template <template <class> class F>
struct Flat {
  F<std::int32_t> charge;
  F<float> x, y, z;
  F<Scalar<float>> unit;
  F<float> begin_x, begin_y, begin_z;
  F<Scalar<float>> begin_unit;
  F<Vector<double, 2>> slope;
  F<float> end_x, end_y, end_z;
  F<Scalar<float>> end_unit;
  F<Matrix<float, 2, 3>> covariance;
};

template <template <class> class F>
struct OnlyScalars {
  F<Scalar<float>> field;
  F<Scalar<double>> scale;
};

/// Blocks of different length.
template <template <class> class F>
struct Event {
  F<Block<Mixed>> hits;
  F<Block<Outputs>> edges;
  F<Block<Nested>> tracks;
};

}  // namespace tensoa::test
