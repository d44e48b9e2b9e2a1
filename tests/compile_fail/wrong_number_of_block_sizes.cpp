// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: give one number of rows for each block, in the order of the blocks
#include "tensoa/soa/block_collection.hpp"

template <template <class> class F>
struct Hit {
  F<float> x, y;
};

template <template <class> class F>
struct Event {
  F<tensoa::Block<Hit>> hits;
  F<tensoa::Block<Hit>> doublets;
};

void use() { tensoa::PortableCollection<Event> event({10}, tensoa::Device::cpu()); }
