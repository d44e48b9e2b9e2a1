// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>

#include "tensoa/soa/portable_collection.hpp"

namespace tensoa::events {

/// Capacity for n rows after one that was too small: by halves, so that a few events settle it.
inline std::size_t grown(std::size_t capacity, std::size_t n) {
  return std::max(n, capacity + capacity / 2);
}

/// Gives the collection n rows. Those that were there are lost when it has to grow.
template <template <template <class> class> class Layout>
void make_room(PortableCollection<Layout>& rows, std::size_t n) {
  if (n > rows.capacity()) {
    const Device device = rows.device();
    const std::size_t capacity = grown(rows.capacity(), n);
    rows = PortableCollection<Layout>(0, device);  // the old memory goes before the new comes
    rows = PortableCollection<Layout>(capacity, device);
  }
  rows.resize(n);
}

}  // namespace tensoa::events
