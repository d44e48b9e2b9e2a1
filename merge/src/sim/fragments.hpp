// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

// The pattern recognition of generated events.

namespace tensoa::merge {

/// A cluster in whole numbers.
struct MadeCluster {
  std::int32_t layer;
  std::int64_t x, y, z;  ///< µm
  std::int64_t energy;   ///< keV
  std::int64_t time;     ///< ps
  bool has_time;
  std::int32_t cells;
  std::int64_t particle_id;
  std::int64_t fragment_id = -1;

  friend auto operator<=>(const MadeCluster&, const MadeCluster&) = default;
};

/// Fills fragment_id: 0, 1, 2 … in the order of the clusters that begin fragments, -1 for clusters that
/// lie alone.
///
/// By density, after CLUE (Rovere et al., "CLUE: a fast parallel clustering algorithm for high
/// granularity calorimeters in high-energy physics", 2020) in three dimensions: the density of a cluster
/// is its energy and a part of that of its neighbours; each follows the nearest one of higher density.
/// @param clusters in ascending order
void find_fragments(std::vector<MadeCluster>& clusters);

}  // namespace tensoa::merge
