// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: constraint
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Hit {
  F<tensoa::Vector<long double, 3>> x;
};

tensoa::View<Hit> view;
