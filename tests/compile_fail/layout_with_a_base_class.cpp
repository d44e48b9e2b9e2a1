// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: a layout is a plain struct: .* or base classes
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Point {
  F<float> x;
};

template <template <class> class F>
struct Hit : Point<F> {
  F<float> y;
};

tensoa::PortableCollection<Hit> hits(10, tensoa::Device::cpu());
