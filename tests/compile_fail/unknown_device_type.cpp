// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: constraint.*(DeviceLike|D = MyDevice)
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Hit {
  F<float> x, y;
};

struct MyDevice {};

tensoa::PortableCollection<Hit, MyDevice>* hits;
