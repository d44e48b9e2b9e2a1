// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tensoa/core/device.hpp"
#include "tensoa/soa/portable_collection.hpp"

/// @file
/// The columns of the tracking application: hits, candidate edges between them, and true particles.
/// Hits come from a reader or the generator, edges from the GraphBuilder, scores from a model, and
/// track_id from the TrackFinder; each writes its own columns in place.

namespace tensoa::track {

/// One row a hit: a point where a particle (or noise) left a signal in a detector layer.
template <template <class> class F>
struct Hit {
  F<float> x, y, z;                         ///< mm, the beam runs along z
  F<std::int32_t> layer;                    ///< volume_id * 1000 + layer_id; 0 = unknown
  F<std::int64_t> hit_id;                   ///< as in the file
  F<std::int64_t> particle_id;              ///< truth; 0 = noise, or no truth
  F<float> r_scaled, phi_scaled, z_scaled;  ///< node features: r / 3000 mm, phi / pi, z / 400 mm
  F<std::int64_t> track_id;                 ///< answer; -1 = on no track
};

/// One row a candidate edge: a pair of hits that may be neighbours on one track.
template <template <class> class F>
struct Edge {
  F<std::int64_t> source, target;  ///< rows of Hit; the source has the smaller r
  F<float> dr, dphi, dz;  ///< target - source of the scaled columns; dphi wrapped to [-1, 1]
  F<float> dR;            ///< sqrt(deta^2 + dphi^2), here dphi in rad
  F<float> score;         ///< answer of the network, [0, 1]
  F<std::uint8_t> truth;  ///< 1 = both hits of one particle; 0 = not, or no truth
};

/// One row a true particle, at its production point.
template <template <class> class F>
struct Particle {
  F<std::int64_t> particle_id;  ///< not 0
  F<float> vx, vy, vz;          ///< mm
  F<float> px, py, pz;          ///< GeV
  F<std::int32_t> charge;       ///< units of e
};

/// One collision event on the host. Move-only, as its collections are.
struct Event {
  std::string name;
  PortableCollection<Hit> hits{0, Device::cpu()};
  PortableCollection<Particle> particles{0, Device::cpu()};  ///< empty when not known
  bool has_truth = false;   ///< particle_id of the hits is meaningful
  bool has_layers = false;  ///< layer of the hits is meaningful
};

}  // namespace tensoa::track
