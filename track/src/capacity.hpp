// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "tensoa/core/error.hpp"
#include "tensoa/soa/portable_collection.hpp"
#include "tensoa/track/graph_kernels.hpp"

namespace tensoa::track::detail {

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

/// @throws InputError
inline void require_countable(std::size_t n_hits) {
  if (n_hits > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw InputError("event of " + std::to_string(n_hits) + " hits, expected fewer than 2^31");
  }
}

/// @throws InputError
inline void require_finite(const GraphStatus& status) {
  if (status.bad_hit != GraphStatus::kNone) {
    throw InputError("hit row " + std::to_string(status.bad_hit) +
                     ": got a NaN or infinite coordinate, expected mm");
  }
}

[[noreturn]] inline void refuse_edge(std::uint64_t edge, std::int64_t source, std::int64_t target,
                                     std::size_t n_hits) {
  throw InputError("edge " + std::to_string(edge) + ": got rows " + std::to_string(source) +
                   " and " + std::to_string(target) + ", expected rows of the " +
                   std::to_string(n_hits) + " hits");
}

}  // namespace tensoa::track::detail
