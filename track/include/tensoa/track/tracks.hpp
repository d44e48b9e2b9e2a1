// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "tensoa/track/event.hpp"

namespace tensoa::track {

/// When edges and hits make a track.
struct TrackOptions {
  float min_score = 0.5F;    ///< edges of at least this score join their hits
  std::size_t min_hits = 3;  ///< groups of fewer hits are not tracks
  /// mm: two hits of one layer lie within that on a track, as where modules overlap; infinite: anywhere.
  float max_layer_distance = 30.0F;
};

/// Turns edge scores into tracks on the CPU, in the calling thread, by the kernels that DeviceEvent
/// runs on a GPU (impl/track_groups.hpp).
///
/// Every hit begins as a group. Edges of at least `min_score` are taken in falling order of their score,
/// of equal ones the first in the collection; each joins the groups of its two hits, unless two hits of
/// one known layer would then be farther apart than `max_layer_distance`. A particle crosses a layer
/// once: an edge that contradicts better ones is wrong, and joins nothing. Hits of unknown layer (0)
/// contradict nothing.
///
/// *Ownership*: keeps its workspace, which only grows. Move-only. What was moved from may only be
/// destroyed or assigned to. *Threads*: one finder per thread.
class TrackFinder {
 public:
  /// @throws ConfigError for a max_layer_distance that is negative or NaN
  explicit TrackFinder(const TrackOptions& options = {});
  ~TrackFinder();
  TrackFinder(TrackFinder&&) noexcept;
  TrackFinder& operator=(TrackFinder&&) noexcept;

  /// Fills `track_id` of every hit: 0, 1, 2 ... in order of the first hit of a track, -1 for no
  /// track.
  /// @param hits [n_hits]; x, y, z and layer are read
  /// @param edges [n_edges], fewer than 2^31; source, target and score are read. A NaN score joins nothing.
  /// @return the number of tracks.
  /// @throws InputError when an edge names a hit that is not there.
  std::size_t find(View<Hit> hits, ConstView<Edge> edges);

 private:
  struct Workspace;

  TrackOptions options_;
  std::unique_ptr<Workspace> work_;
};

}  // namespace tensoa::track
