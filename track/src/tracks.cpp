// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/tracks.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "capacity.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/track/serial_launcher.hpp"

namespace tensoa::track {

std::size_t TrackFinder::find(View<Hit> hits, ConstView<Edge> edges) {
  detail::require_countable(hits.size());
  detail::make_room(work_, hits.size());
  TrackStatus status;
  join_hits(SerialLauncher{}, work_.view(), {edges}, options_, &status);
  if (status.bad_edge != TrackStatus::kNone) {
    detail::refuse_edge(status.bad_edge, edges.source[status.bad_edge],
                        edges.target[status.bad_edge], hits.size());
  }
  number_tracks(SerialLauncher{}, work_.view(), options_, hits.track_id.data(), &status);
  return static_cast<std::size_t>(status.tracks);
}

}  // namespace tensoa::track
