// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: Matrix<T, R, C>: R and C are 1 or more
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Hit {
  F<tensoa::Matrix<float, 0, 3>> x;
};

tensoa::PortableCollection<Hit> hits(10, tensoa::Device::cpu());
