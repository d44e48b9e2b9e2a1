// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tensoa::track {

/// What a pair of hits must fulfil to be a candidate edge. The source is the hit of smaller r;
/// differences are target - source. Both hits must lie on different layers (0 = unknown always
/// passes).
struct GraphCuts {
  double min_dr = 2.0;             ///< mm, dr at least
  double max_dphi = 0.3;           ///< rad, |dphi| at most
  double max_dphi_per_dr = 0.002;  ///< rad/mm, |dphi| / dr at most
  double max_distance = 500.0;     ///< mm, distance in space at most
  double max_z0 = 150.0;           ///< mm, |z0| at most, z0 = z - r * dz / dr of the source
};

/// @throws ConfigError when a cut is negative or not finite.
void require_cuts(const GraphCuts& cuts);

}  // namespace tensoa::track
