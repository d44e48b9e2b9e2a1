// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: (could not convert .*|no viable conversion .*)const_view|no viable conversion .*ConstColumn
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Hit {
  F<float> x, y;
};

tensoa::View<Hit> use(const tensoa::PortableCollection<Hit>& hits) { return hits.const_view(); }
