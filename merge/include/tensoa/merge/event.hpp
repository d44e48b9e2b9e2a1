// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "tensoa/core/device.hpp"
#include "tensoa/soa/portable_collection.hpp"

/// @file
/// The columns of the merging application: clusters of a calorimeter, the fragments that a pattern
/// recognition made of them, their node features, and candidate edges between fragments. Clusters and
/// fragments come from a file or the generator, features and edges from DeviceEvent, scores from a
/// model; each writes its own columns in place.

namespace tensoa::merge {

/// One row a cluster: the cells of one layer that a shower lit together.
template <template <class> class F>
struct Cluster {
  F<float> x, y, z;             ///< mm, the beam runs along z
  F<float> energy;              ///< GeV, 0 or more
  F<float> time;                ///< ns after light from the origin; kNoTime: not measured
  F<std::int32_t> layer;        ///< from 1, away from the collisions
  F<std::int32_t> cells;        ///< 1 or more
  F<std::int64_t> fragment_id;  ///< as in the file; -1 = on no fragment
  F<std::int64_t> particle_id;  ///< truth; 0 = noise, or no truth
};

/// The time of a cluster without one.
inline constexpr float kNoTime = -99;

/// The last layer of the electromagnetic part of the calorimeter.
inline constexpr std::int32_t kEmLayers = 26;

/// One row a fragment.
template <template <class> class F>
struct Fragment {
  F<std::int64_t> fragment_id;  ///< as in the file
  F<std::int64_t> first, last;  ///< its clusters are the rows first … last - 1
  F<std::int64_t> particle_id;  ///< truth: of most of its energy; 0 = noise, or no truth
  F<std::int64_t> merged_id;    ///< answer: 0, 1, 2 … by the first fragment; -1 before
};

/// One row a fragment: the 29 node features of the network, in this order. Means and sums are weighted
/// by energy where not stated otherwise; without energy all clusters count the same.
template <template <class> class F>
struct Node {
  F<float> x, y, z;                              ///< mm, barycentre
  F<float> eta, phi;                             ///< of the barycentre; rad
  F<float> axis_x, axis_y, axis_z;               ///< of the largest spread, away from the origin
  F<float> variance_1, variance_2, variance_3;   ///< mm^2, along the three axes, descending
  F<float> sigma_1, sigma_2, sigma_3;            ///< mm, the same, each cluster counting the same
  F<float> clusters, cells;                      ///< numbers
  F<float> energy, em_energy;                    ///< GeV; of the layers up to kEmLayers
  F<float> first_layer, last_layer, peak_layer;  ///< the last: of the cluster of most energy
  F<float> peak_part;                            ///< energy of that cluster / energy
  F<float> core_part;         ///< energy within 20 mm of the line to the barycentre / energy
  F<float> mean_radius;       ///< mm, distance from that line, which starts at the origin
  F<float> z_min, z_max;      ///< mm, |z| of the clusters
  F<float> cluster_density;   ///< clusters / layers from the first to the last
  F<float> fragment_density;  ///< fragments that share an edge with it
  F<float> time;              ///< ns, of clusters with a time; kNoTime without one
};

/// One row a candidate edge: a pair of fragments that may be of one particle.
template <template <class> class F>
struct Edge {
  F<std::int64_t> source, target;  ///< rows of Fragment; the source has the smaller |z|
  // The seven edge features, in this order.
  F<float> energy_difference;  ///< GeV, its absolute value
  F<float> dz;                 ///< mm, |z| of the target - |z| of the source
  F<float> transverse;         ///< mm, from the target to the line from the origin to the source
  F<float> nearest, farthest;  ///< mm, smallest and largest distance of two of their clusters
  F<float> time_difference;    ///< ns, target - source; 0 where one has no time
  F<float> cosine;             ///< between the axis of the source and the line to the target
  F<float> score;              ///< answer of the network, [0, 1]
  F<std::uint8_t> truth;       ///< 1 = both of one particle; 0 = not, or no truth
};

/// One collision event on the host. Move-only, as its collections are.
struct Event {
  std::string name;
  PortableCollection<Cluster> clusters{0, Device::cpu()};    ///< those of a fragment side by side
  PortableCollection<Fragment> fragments{0, Device::cpu()};  ///< in the order of their clusters
  bool has_truth = false;  ///< particle_id of the clusters is meaningful
};

/// Makes an event of clusters in any order: sorts them by fragment_id, those of -1 last and otherwise
/// in the order given, and makes the fragments.
/// @throws InputError, with the row: |x| or |y| above 100 m, |z| outside 1 m to 100 m, energy outside
/// 0 to 1e6 GeV, |time| above 1e6 ns, NaN, layer or cells below 1, fragment_id below -1
Event make_event(std::string name, ConstView<Cluster> clusters, bool has_truth);

}  // namespace tensoa::merge
