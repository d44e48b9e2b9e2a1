// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "tensoa/core/error.hpp"
#include "tensoa/track/impl/hit_buckets.hpp"
#include "tensoa/track/tracks.hpp"

// Errors for events that the kernels refuse; the same words on CPU and GPU.

namespace tensoa::track::detail {

/// @throws InputError
inline void require_countable(std::size_t n, const char* what = "hits") {
  if (n > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw InputError("event of " + std::to_string(n) + " " + what + ", expected fewer than 2^31");
  }
}

/// @throws ConfigError
inline void require_track_options(const TrackOptions& options) {
  if (options.max_layer_distance >= 0) return;
  throw ConfigError("max_layer_distance: got " + std::to_string(options.max_layer_distance) +
                    ", expected mm, at least 0");
}

/// @param layer of hits, on the host
/// @throws InputError
inline void require_usable(const GraphStatus& status, const std::int32_t* layer) {
  if (status.bad_hit != GraphStatus::kNone) {
    throw InputError("hit row " + std::to_string(status.bad_hit) +
                     ": got a NaN or infinite coordinate, expected mm");
  }
  if (status.bad_layer != GraphStatus::kNone) {
    throw InputError("hit row " + std::to_string(status.bad_layer) + ": got layer " +
                     std::to_string(layer[status.bad_layer]) +
                     ", expected one of the layer map of the graph rules, or 0 for an unknown one; "
                     "rules for this detector are trained by tensoa.tracking.graph_rules");
  }
}

[[noreturn]] inline void refuse_edge(std::uint64_t edge, std::int64_t source, std::int64_t target,
                                     std::size_t n_hits) {
  throw InputError("edge " + std::to_string(edge) + ": got rows " + std::to_string(source) +
                   " and " + std::to_string(target) + ", expected rows of the " +
                   std::to_string(n_hits) + " hits");
}

}  // namespace tensoa::track::detail
