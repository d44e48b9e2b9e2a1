// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: no matching (function for call to|constructor for initialization of) .*PortableCollection<Hit>
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Hit {
  F<float> x, y;
};

tensoa::PortableCollection<Hit> hits(10);
