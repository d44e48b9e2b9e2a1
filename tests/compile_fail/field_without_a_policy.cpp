// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: every member of a layout is a field: F<int> n, not int n
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Hit {
  F<float> x;
  int n;
};

tensoa::PortableCollection<Hit> hits(10, tensoa::Device::cpu());
