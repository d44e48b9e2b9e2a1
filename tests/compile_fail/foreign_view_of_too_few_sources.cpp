// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: one source for each field of the layout
#include "tensoa/soa/foreign_view.hpp"

template <template <class> class F>
struct Hit {
  F<float> x, y;
};

auto use(float* x) { return tensoa::foreign_view<Hit>(8, tensoa::Device::cpu(), x); }
