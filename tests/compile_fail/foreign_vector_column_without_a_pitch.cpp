// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: needs to know where its planes lie; pass Planes
#include "tensoa/soa/foreign_view.hpp"

template <template <class> class F>
struct Hit {
  F<tensoa::Vector<float, 3>> direction;
};

auto use(float* direction) {
  return tensoa::foreign_view<Hit>(8, tensoa::Device::cpu(), direction);
}
