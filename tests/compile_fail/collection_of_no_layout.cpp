// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
// Expects: type/value mismatch at argument 1|template template argument has different template parameters
#include "tensoa/soa/portable_collection.hpp"

#include <vector>

tensoa::PortableCollection<std::vector>* use(tensoa::PortableCollection<std::vector> c) {
  c.view();
  return &c;
}
