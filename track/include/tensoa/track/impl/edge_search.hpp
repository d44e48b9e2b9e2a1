// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

#include "tensoa/track/event.hpp"
#include "tensoa/track/graph_builder.hpp"
#include "tensoa/track/impl/arithmetic.hpp"
#include "tensoa/track/impl/hit_buckets.hpp"

/// @file
/// The candidate edges between hits in buckets, as kernels (hit_buckets.hpp).

namespace tensoa::track {

/// The search itself: which hits of a bucket are targets of a source.
struct TargetSearch {
  GraphCuts cuts;
  View<HitWork> work;
  const Bucket* buckets;

  // Slack in mm for rounding where a bound only skips work.
  static constexpr double kSlack = 1e-6;

  /// The places of the bucket of the hit at a place.
  TENSOA_HOST_DEVICE const Bucket& bucket_at(std::size_t place) const {
    return buckets[work.bucket_at[place] - 1];
  }

  /// Whether any hit of `target` may be a target of one of `source`.
  ///
  /// The line through a target (r_t, z_t) and (0, z0) has at r_s = f * r_t the z of f * z_t + (1 - f)
  /// * z0. For the bounds of two buckets, a source can only lie between the extremes of that, which
  /// are at corners.
  TENSOA_HOST_DEVICE bool may_have_edges(const Bucket& source, const Bucket& target) const {
    if (source.layer == target.layer && source.layer != 0) return false;
    if (target.r_max - source.r_min < cuts.min_dr - kSlack) return false;
    if (target.r_min - source.r_max > cuts.max_distance + kSlack) return false;
    if (target.z_min - source.z_max > cuts.max_distance + kSlack) return false;
    if (source.z_min - target.z_max > cuts.max_distance + kSlack) return false;
    if (target.r_max <= 0) return false;
    const double f_min = source.r_min / target.r_max;
    const double f_max = source.r_max < target.r_min ? source.r_max / target.r_min : 1.0;
    return source.z_min <= upper(target, f_min, f_max) + kSlack &&
           source.z_max >= lower(target, f_min, f_max) - kSlack;
  }

  /// Calls `found(row)` for the targets in `target` of the hit at the place `source`, in no order
  /// that means anything. The layers are not compared.
  template <class Found>
  TENSOA_HOST_DEVICE void scan(std::size_t source, const Bucket& target, Found& found) const {
    constexpr double kPi = std::numbers::pi;
    const double r = work.r_at[source];
    const double z = work.z_at[source];
    const double max_dr = target.r_max - r;
    if (max_dr < cuts.min_dr || target.r_min - r > cuts.max_distance) return;

    // As in may_have_edges(), for one source.
    const double f_min = r / target.r_max;
    const double f_max = r < target.r_min ? r / target.r_min : 1.0;
    if (z > upper(target, f_min, f_max) + kSlack || z < lower(target, f_min, f_max) - kSlack) {
      return;
    }

    const double window = std::min(cuts.max_dphi, cuts.max_dphi_per_dr * max_dr) + kSlack;
    const double phi = work.phi_at[source];
    if (window >= kPi) {
      scan_window(source, target, -kPi, kPi, found);
      return;
    }
    scan_window(source, target, phi - window, phi + window, found);
    if (phi - window < -kPi) scan_window(source, target, phi - window + 2 * kPi, kPi, found);
    if (phi + window > kPi) scan_window(source, target, -kPi, phi + window - 2 * kPi, found);
  }

 private:
  TENSOA_HOST_DEVICE double upper(const Bucket& target, double f_min, double f_max) const {
    return std::max(f_min * target.z_max + (1 - f_min) * cuts.max_z0,
                    f_max * target.z_max + (1 - f_max) * cuts.max_z0);
  }
  TENSOA_HOST_DEVICE double lower(const Bucket& target, double f_min, double f_max) const {
    return std::min(f_min * target.z_min - (1 - f_min) * cuts.max_z0,
                    f_max * target.z_min - (1 - f_max) * cuts.max_z0);
  }

  // The first place of the bucket whose phi is not below `phi`. Not std::lower_bound: nvcc 13.0 takes
  // the __builtin_constant_p in libstdc++'s std::advance for true, and searches wrongly without a word.
  TENSOA_HOST_DEVICE std::size_t first_from(const Bucket& bucket, double phi) const {
    auto first = static_cast<std::size_t>(bucket.first);
    for (auto n = static_cast<std::size_t>(bucket.last) - first; n > 0;) {
      const std::size_t half = n / 2;
      if (work.phi_at[first + half] < phi) {
        first += half + 1;
        n -= half + 1;
      } else {
        n = half;
      }
    }
    return first;
  }

  template <class Found>
  TENSOA_HOST_DEVICE void scan_window(std::size_t source, const Bucket& target, double phi_min,
                                      double phi_max, Found& found) const {
    constexpr double kPi = std::numbers::pi;
    const double r = work.r_at[source];
    const double phi = work.phi_at[source];
    const double x = work.x_at[source];
    const double y = work.y_at[source];
    const double z = work.z_at[source];
    const double* phis = work.phi_at.data();
    const auto last = static_cast<std::size_t>(target.last);
    for (std::size_t i = first_from(target, phi_min); i < last && phis[i] <= phi_max; ++i) {
      const double dr = work.r_at[i] - r;
      if (!(dr > 0) || dr < cuts.min_dr) continue;
      double dphi = std::abs(phis[i] - phi);
      if (dphi > kPi) dphi = 2 * kPi - dphi;
      if (dphi > cuts.max_dphi || dphi > cuts.max_dphi_per_dr * dr) continue;
      const double dz = work.z_at[i] - z;
      if (std::abs(z - r * dz / dr) > cuts.max_z0) continue;
      const double dx = work.x_at[i] - x;
      const double dy = work.y_at[i] - y;
      if (dx * dx + dy * dy + dz * dz > cuts.max_distance * cuts.max_distance) continue;
      found(work.row_at[i]);
    }
  }
};

/// The search for one source by kLanes rows, each with its share of the buckets: row = source *
/// kLanes + lane.
struct LaneSearch {
  static constexpr std::size_t kLanes = 16;

  TargetSearch search;
  const GraphStatus* status;

  template <class Found>
  TENSOA_HOST_DEVICE void scan(std::size_t row, Found& found) const {
    const auto place = static_cast<std::size_t>(search.work.place[row / kLanes]);
    const std::int32_t layer = search.bucket_at(place).layer;
    const auto n_buckets = static_cast<std::size_t>(status->buckets);
    for (std::size_t b = row % kLanes; b < n_buckets; b += kLanes) {
      const Bucket& target = search.buckets[b];
      if (target.layer != layer || layer == 0) search.scan(place, target, found);
    }
  }
};

/// Counts the targets of each row of a LaneSearch.
struct CountTargets {
  LaneSearch lanes;
  std::int64_t* counts;  ///< [n_hits * kLanes]

  TENSOA_HOST_DEVICE void operator()(std::size_t row) const {
    std::int64_t count = 0;
    const auto found = [&count](std::int32_t) { ++count; };
    lanes.scan(row, found);
    counts[row] = count;
  }
};

/// Hands on the last of the running sums, in one row.
struct CountEdges {
  const std::int64_t* ends;
  std::size_t n;
  GraphStatus* status;

  TENSOA_HOST_DEVICE void operator()(std::size_t) const { status->edges = n > 0 ? ends[n - 1] : 0; }
};

/// One row an edge, grouped by source in the order of hits; the targets of a source in any order.
template <template <class> class F>
struct FoundEdge {
  F<std::int32_t> source, target;
};

/// Writes the targets that CountTargets counted, where there are rows for all.
struct FillTargets {
  LaneSearch lanes;
  const std::int64_t* ends;  ///< running sums of the counts
  View<FoundEdge> edges;

  TENSOA_HOST_DEVICE void operator()(std::size_t row) const {
    if (lanes.status->edges_in(edges.size()) == 0) return;
    std::size_t e = row == 0 ? 0 : static_cast<std::size_t>(ends[row - 1]);
    const auto source = static_cast<std::int32_t>(row / LaneSearch::kLanes);
    const auto found = [&](std::int32_t target) {
      edges.source[e] = source;
      edges.target[e] = target;
      ++e;
    };
    lanes.scan(row, found);
  }
};

/// The node features of a row that is no hit.
struct ClearNode {
  View<Hit> hits;
  std::size_t first;  ///< such row

  TENSOA_HOST_DEVICE void operator()(std::size_t row) const {
    hits.r_scaled[first + row] = hits.phi_scaled[first + row] = hits.z_scaled[first + row] = 0;
  }
};

/// The columns of one edge.
struct EdgeColumns {
  View<Hit> hits;  ///< node features and particle_id are read
  View<HitWork> work;
  View<Edge> edges;

  TENSOA_HOST_DEVICE void fill(std::size_t e, std::size_t s, std::size_t t) const {
    float dphi = hits.phi_scaled[t] - hits.phi_scaled[s];
    if (dphi > 1) dphi -= 2;
    if (dphi < -1) dphi += 2;
    const float deta = work.eta[t] - work.eta[s];
    const float dphi_rad = dphi * std::numbers::pi_v<float>;
    edges.source[e] = static_cast<std::int64_t>(s);
    edges.target[e] = static_cast<std::int64_t>(t);
    edges.dr[e] = hits.r_scaled[t] - hits.r_scaled[s];
    edges.dphi[e] = dphi;
    edges.dz[e] = hits.z_scaled[t] - hits.z_scaled[s];
    edges.dR[e] = std::sqrt(deta * deta + dphi_rad * dphi_rad);
    edges.truth[e] = hits.particle_id[s] != 0 && hits.particle_id[s] == hits.particle_id[t];
  }

  /// No edge: from the row after the hits to itself.
  TENSOA_HOST_DEVICE void clear(std::size_t e) const {
    edges.source[e] = edges.target[e] = static_cast<std::int64_t>(hits.size());
    edges.dr[e] = edges.dphi[e] = edges.dz[e] = edges.dR[e] = 0;
    edges.truth[e] = 0;
  }
};

/// Writes each edge where it belongs in the order of (source, target): after those of its source
/// with smaller targets. Rows beyond the edges become none.
struct FillEdges {
  EdgeColumns columns;
  View<FoundEdge> found;
  const std::int64_t* ends;
  const GraphStatus* status;

  TENSOA_HOST_DEVICE void operator()(std::size_t row) const {
    if (row >= status->edges_in(found.size())) {
      columns.clear(row);
      return;
    }
    const auto source = static_cast<std::size_t>(found.source[row]);
    const std::int32_t target = found.target[row];
    const std::size_t lane = source * LaneSearch::kLanes;
    const std::size_t first = lane == 0 ? 0 : static_cast<std::size_t>(ends[lane - 1]);
    const auto last = static_cast<std::size_t>(ends[lane + LaneSearch::kLanes - 1]);
    std::size_t e = first;
    for (std::size_t i = first; i < last; ++i) e += found.target[i] < target ? 1 : 0;
    columns.fill(e, source, static_cast<std::size_t>(target));
  }
};

/// Counts the edges: `status` has the sum, `ends` the running sums of each row of `lanes`.
/// @param ends [n_hits * kLanes]
template <class Launcher>
void count_edges(const Launcher& launch, const LaneSearch& lanes, std::int64_t* ends,
                 GraphStatus* status) {
  const std::size_t n = lanes.search.work.size() * LaneSearch::kLanes;
  launch.rows(n, CountTargets{lanes, ends});
  launch.running_sum(ends, n, ends);
  launch.rows(1, CountEdges{ends, n, status});
}

/// Fills the edges that were counted, in ascending order of (source, target).
/// @param columns, found [n_edges], or more rows: those beyond become no edges, as all do where there
/// are fewer
template <class Launcher>
void fill_edges(const Launcher& launch, const LaneSearch& lanes, const EdgeColumns& columns,
                View<FoundEdge> found, const std::int64_t* ends) {
  launch.rows(lanes.search.work.size() * LaneSearch::kLanes, FillTargets{lanes, ends, found});
  launch.rows(columns.edges.size(), FillEdges{columns, found, ends, lanes.status});
}

}  // namespace tensoa::track
