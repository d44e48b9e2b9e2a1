// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "tensoa/track/event.hpp"

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

/// Finds the candidate edges of an event.
///
/// Hits are sorted by phi inside buckets of one layer and a range of r and z. Pairs of buckets that
/// no pair of hits can pass are dropped once per event; in the others only the phi window that the
/// cuts leave is looked at. All decisions are made in float64 from the float32 coordinates.
///
/// *Ownership*: the builder owns the edges and its workspace; both only grow, so that nothing is
/// allocated once the largest event has been seen. *Threads*: one builder per thread.
class GraphBuilder {
 public:
  /// @throws ConfigError when a cut is negative or not finite.
  explicit GraphBuilder(const GraphCuts& cuts = {});

  /// Fills the columns r_scaled, phi_scaled and z_scaled of `hits` and the edges of the event, in
  /// ascending order of (source, target); their `score` is left as it is. No hits or no pair that
  /// passes: no edges.
  /// @param hits [n_hits], x, y, z in mm, layer and particle_id are read.
  /// @return the edges, valid until the next call.
  /// @throws InputError when a coordinate is NaN or infinite.
  PortableCollection<Edge>& build(View<Hit> hits);

  /// The edges of the last build().
  const PortableCollection<Edge>& edges() const noexcept { return edges_; }

 private:
  struct Key {
    std::uint64_t bucket;
    double phi;
    std::int32_t row;
  };

  // The hits first..last of the sorted columns: one layer, one bin in r, one bin in z.
  struct Bucket {
    std::int32_t first, last, layer;
    double r_min, r_max, z_min, z_max;
  };

  // Hits in bucket order, by phi inside a bucket.
  struct Sorted {
    std::vector<double> x, y, z, r, phi;
    std::vector<std::int32_t> row;
    void resize(std::size_t n);
  };

  void fill_node_columns(View<Hit> hits);
  void sort_into_buckets(View<Hit> hits);
  void pair_buckets();
  bool compatible(const Bucket& source, const Bucket& target) const;
  void find_targets(std::size_t n_hits);
  void scan(std::size_t source, const Bucket& bucket);
  void scan_window(std::size_t source, const Bucket& bucket, double phi_min, double phi_max);
  void fill_edge_columns(View<Hit> hits);

  GraphCuts cuts_;
  PortableCollection<Edge> edges_{0, Device::cpu()};

  std::vector<double> r_, phi_;  // [n_hits], by row
  std::vector<float> eta_;       // [n_hits], by row
  std::vector<Key> keys_;
  Sorted sorted_;
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> place_;        // [n_hits], by row: position in sorted_
  std::vector<std::int32_t> bucket_of_;   // [n_hits], by position
  std::vector<std::size_t> pairs_begin_;  // [n_buckets + 1], into pairs_
  std::vector<std::int32_t> pairs_;       // target buckets, grouped by source bucket
  std::vector<std::size_t> begin_;        // [n_hits + 1], by row: into targets_
  std::vector<std::int32_t> targets_;     // rows, grouped by source row
};

}  // namespace tensoa::track
