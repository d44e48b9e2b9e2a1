// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: a field of a layout holds bool
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Hit {
  F<float*> x;
};

tensoa::PortableCollection<Hit> hits(10, tensoa::Device::cpu());
