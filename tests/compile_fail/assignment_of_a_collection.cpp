// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: deleted.*// copy.queue, from, to.
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Hit {
  F<float> x, y;
};

void use(const tensoa::PortableCollection<Hit>& from, tensoa::PortableCollection<Hit>& to) {
  to = from;
}
