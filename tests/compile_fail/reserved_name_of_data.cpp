// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: nor size_, capacity_, device_ or lease_, which are its data
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Cluster {
  F<float> x;
  F<int> lease_;
};

tensoa::View<Cluster> view;
