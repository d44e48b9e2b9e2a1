// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: every member of a layout is a field: .* not F<float> x
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Hit {
  F<float> x[3];
};

tensoa::PortableCollection<Hit> hits(10, tensoa::Device::cpu());
