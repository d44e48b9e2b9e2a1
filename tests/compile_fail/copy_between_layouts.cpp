// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: no matching function for call to .*copy
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Hit {
  F<float> x, y;
};

template <template <class> class F>
struct Edge {
  F<float> score;
};

void use(const tensoa::Queue& queue, const tensoa::PortableCollection<Hit>& hits,
         tensoa::PortableCollection<Edge>& edges) {
  copy(queue, hits, edges);
}
