// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: a source is const; use foreign_const_view
#include <vector>
#include "tensoa/soa/foreign_view.hpp"

template <template <class> class F>
struct Hit {
  F<float> x, y;
};

auto use(const std::vector<float>& x, std::vector<float>& y) {
  return tensoa::foreign_view<Hit>(x.size(), tensoa::Device::cpu(), x, y);
}
