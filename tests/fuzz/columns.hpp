// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "tensoa/soa/fields.hpp"

namespace tensoa::test {

/// One column of each kind.
template <template <class> class F>
struct Kinds {
  F<float> x;
  F<Vector<float, 3>> u;
  F<Matrix<double, 2, 2>> m;
  F<Scalar<std::int32_t>> s;
};

/// Calls `element(address)` for each element of a view or const view.
template <class View, class Each>
void for_each_element(const View& view, const Each& element) {
  for (std::size_t i = 0; i < view.size(); ++i) {
    element(&view.x[i]);
    for (std::size_t k = 0; k < 3; ++k) element(&view.u[i][k]);
    for (std::size_t k = 0; k < 4; ++k) element(&view.m[i](k % 2, k / 2));
  }
}

/// A number that is likely to be near the edges of what is possible, or small.
template <class Number, class Provider>
Number edgy(Provider& bytes) {
  constexpr Number kEdges[] = {0,
                               1,
                               2,
                               static_cast<Number>(-1),
                               std::numeric_limits<Number>::max(),
                               std::numeric_limits<Number>::min(),
                               std::numeric_limits<Number>::max() / 2,
                               std::numeric_limits<Number>::max() / 8};
  switch (bytes.template ConsumeIntegralInRange<int>(0, 2)) {
    case 0:
      return bytes.PickValueInArray(kEdges);
    case 1:
      return bytes.template ConsumeIntegralInRange<Number>(0, 64);
    default:
      return bytes.template ConsumeIntegral<Number>();
  }
}

}  // namespace tensoa::test
