// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: a source must have exactly the type of its field
#include <vector>
#include "tensoa/soa/foreign_view.hpp"

template <template <class> class F>
struct Hit {
  F<float> x, y;
};

auto use(std::vector<float>& x, std::vector<double>& y) {
  return tensoa::foreign_view<Hit>(x.size(), tensoa::Device::cpu(), x, y);
}
