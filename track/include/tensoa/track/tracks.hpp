// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "tensoa/track/event.hpp"
#include "tensoa/track/track_kernels.hpp"

namespace tensoa::track {

/// Turns edge scores into tracks on the CPU, in the calling thread: the connected groups of hits, by
/// the kernels of track_kernels.hpp.
///
/// *Ownership*: keeps its workspace, which only grows. *Threads*: one finder per thread.
class TrackFinder {
 public:
  explicit TrackFinder(const TrackOptions& options = {}) : options_(options) {}

  /// Fills `track_id` of every hit: 0, 1, 2 ... in order of the first hit of a track, -1 for no
  /// track.
  /// @param hits [n_hits]
  /// @param edges [n_edges]; source, target and score are read. A NaN score joins nothing.
  /// @return the number of tracks.
  /// @throws InputError when an edge names a hit that is not there.
  std::size_t find(View<Hit> hits, ConstView<Edge> edges);

 private:
  TrackOptions options_;
  PortableCollection<GroupWork> work_{0, Device::cpu()};
};

}  // namespace tensoa::track
