// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: type/value mismatch at argument 1|template argument for template template parameter must be a class template
#include "tensoa/soa/portable_collection.hpp"

template <template <class> class F>
struct Hit {
  F<float> x, y;
};

tensoa::PortableCollection<float>* floats;
