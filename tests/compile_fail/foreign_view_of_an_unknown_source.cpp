// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: a source is none of: pointer, contiguous range
#include <vector>
#include "tensoa/soa/foreign_view.hpp"

template <template <class> class F>
struct Hit {
  F<bool> used;
};

auto use(std::vector<bool>& used) {
  return tensoa::foreign_view<Hit>(used.size(), tensoa::Device::cpu(), used);
}
