// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: a layout has columns or blocks, not both: put the columns into a layout of their own
#include "tensoa/soa/block_collection.hpp"

template <template <class> class F>
struct Hit {
  F<float> x, y;
};

template <template <class> class F>
struct Event {
  F<tensoa::Block<Hit>> hits;
  F<float> time;
};

void use() { tensoa::PortableCollection<Event> event({10, 10}, tensoa::Device::cpu()); }
