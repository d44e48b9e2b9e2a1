// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensoa/track/event.hpp"

namespace tensoa::track {

/// When edges and hits make a track.
struct TrackOptions {
  float min_score = 0.5F;    ///< edges of at least this score join their hits
  std::size_t min_hits = 3;  ///< groups of fewer hits are no tracks
};

/// Turns edge scores into tracks: the connected groups of hits (union-find by size with path
/// halving).
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
  std::size_t root_of(std::size_t hit);
  void join(std::size_t a, std::size_t b);

  TrackOptions options_;
  std::vector<std::size_t> parent_;     // [n_hits]
  std::vector<std::size_t> size_;       // [n_hits], of the group whose root this is
  std::vector<std::int64_t> track_of_;  // [n_hits], by root; -1 = not numbered yet
};

}  // namespace tensoa::track
