// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: forming pointer to reference type|declared as a pointer to a reference
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Hit {
  F<float&> x;
};

tensoa::PortableCollection<Hit> hits(10, tensoa::Device::cpu());
