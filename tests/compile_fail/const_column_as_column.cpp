// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: could not convert .* from .*PlainColumn<const float>.* to .*PlainColumn<float>|no viable conversion from
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Hit {
  F<float> x, y;
};

tensoa::Column<float> use(tensoa::ConstView<Hit> hits) { return hits.x; }
