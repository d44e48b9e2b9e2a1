// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: a layout's field may not be called size, capacity, device, columns or records
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Cluster {
  F<float> x;
  F<int> size;
};

tensoa::View<Cluster> view;
