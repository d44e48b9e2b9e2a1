// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: T is not const
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Hit {
  F<tensoa::Vector<const float, 3>> x;
};

tensoa::PortableCollection<Hit> hits(10, tensoa::Device::cpu());
