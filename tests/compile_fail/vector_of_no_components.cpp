// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: Vector<T, N>: N is 1 or more
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Hit {
  F<tensoa::Vector<float, 0>> x;
};

tensoa::PortableCollection<Hit> hits(10, tensoa::Device::cpu());
