// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "tensoa/core/error.hpp"
#include "tensoa/track/impl/hit_buckets.hpp"

// What the kernels refuse, as errors; the same words on CPU and GPU.

namespace tensoa::track::detail {

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
