// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: discards qualifiers|function is not marked const
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Hit {
  F<float> x, y;
};

tensoa::View<Hit> use(const tensoa::PortableCollection<Hit>& hits) { return hits.view(); }
