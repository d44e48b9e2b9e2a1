// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

#include "tensoa/events/impl/arithmetic.hpp"
#include "tensoa/track/event.hpp"
#include "tensoa/track/graph_rules.hpp"
#include "tensoa/track/impl/hit_buckets.hpp"
#include "tensoa/track/impl/pair_features.hpp"

/// @file
/// The candidate edges between hits in buckets, as kernels (hit_buckets.hpp).

namespace tensoa::track {

/// The search itself: which hits of a bucket are targets of a source.
struct TargetSearch {
  GraphCuts cuts;
  LayerTable layers;
  bool filters;  ///< pairs that pass the cuts, by `filter`
  PairFilter filter;
  View<HitWork> work;
  Bucket* buckets;

  // Slack in mm for rounding where a bound only skips work.
  static constexpr double kSlack = 1e-6;

  /// The places of the bucket of the hit at a place.
  TENSOA_HOST_DEVICE const Bucket& bucket_at(std::size_t place) const {
    return buckets[work.bucket_at[place] - 1];
  }

  /// Whether the layers allow targets in `target` of sources in `source`.
  TENSOA_HOST_DEVICE bool may_follow(const Bucket& source, const Bucket& target) const {
    if (source.layer == target.layer && source.layer != 0) return false;
    return layers.passes(source.layer_number, target.layer_number);
  }

  /// Whether any hit of `target` may be a target of one of `source`.
  ///
  /// The line through a target (r_t, z_t) and (0, z0) has at r_s = f * r_t the z of f * z_t + (1 - f)
  /// * z0. For the bounds of two buckets, a source can only lie between the extremes of that, which
  /// are at corners.
  TENSOA_HOST_DEVICE bool may_have_edges(const Bucket& source, const Bucket& target) const {
    if (!may_follow(source, target)) return false;
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

  TENSOA_HOST_DEVICE PairHit hit_at(std::size_t place) const {
    return {static_cast<float>(work.x_at[place]), static_cast<float>(work.y_at[place]),
            static_cast<float>(work.z_at[place]), static_cast<float>(work.r_at[place])};
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
    const PairHit own = hit_at(source);
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
      if (filters && !passes(filter, own, hit_at(i))) continue;
      found(work.row_at[i]);
    }
  }
};

inline TargetSearch search_by(const GraphRules& rules, const LayerTable& layers, View<HitWork> work,
                              Bucket* buckets) {
  return {rules.cuts, layers, rules.filter.has_value(), rules.filter.value_or(PairFilter()),
          work,       buckets};
}

/// Which pairs of buckets may have edges: the targets of each source, found before any hit is looked at.
///
/// Only for events of at most kMost buckets, so that the memory is small; there is one bucket for
/// each cell of the detector, whatever the number of hits. In events with more, no pair is dropped.
struct BucketPairs {
  static constexpr std::size_t kMost = 1024;

  std::int32_t* targets;  ///< [kMost * kMost], or one source for each hit
  const GraphStatus* status;

  TENSOA_HOST_DEVICE std::size_t buckets() const {
    return static_cast<std::size_t>(status->buckets);
  }
  TENSOA_HOST_DEVICE bool are_known() const { return buckets() <= kMost; }

  /// [Bucket::targets], in no order that means anything
  TENSOA_HOST_DEVICE std::int32_t* of(std::size_t source) const { return targets + source * kMost; }
};

/// Finds the pairs, kTargets a row: row = source * kRows + targets.
struct PairBuckets {
  static constexpr std::size_t kTargets = 8;
  static constexpr std::size_t kRows = BucketPairs::kMost / kTargets;

  TargetSearch search;
  BucketPairs pairs;

  TENSOA_HOST_DEVICE void operator()(std::size_t row) const {
    const std::size_t source = row / kRows;
    const std::size_t first = row % kRows * kTargets;
    const std::size_t n = pairs.buckets();
    if (!pairs.are_known() || source >= n) return;
    std::int32_t found[kTargets];
    std::int32_t n_found = 0;
    for (std::size_t target = first; target < first + kTargets && target < n; ++target) {
      if (search.may_have_edges(search.buckets[source], search.buckets[target])) {
        found[n_found++] = static_cast<std::int32_t>(target);
      }
    }
    if (n_found == 0) return;
    std::int32_t* const to =
        pairs.of(source) + events::atomic::add(search.buckets[source].targets, n_found);
    for (std::int32_t i = 0; i < n_found; ++i) to[i] = found[i];
  }
};

/// Room for the targets of each hit, those of one in any order: as much for every hit, or, where the
/// numbers are known, as much as there are.
struct TargetSlots {
  std::int32_t* rows;  ///< [size]
  std::size_t size;    ///< at least n_hits * width
  std::size_t width;   ///< of every hit; 0: the number of each, by HitWork::end

  TENSOA_HOST_DEVICE std::size_t first(const View<HitWork>& work, std::size_t source) const {
    if (width > 0) return source * width;
    return source == 0 ? 0 : static_cast<std::size_t>(work.end[source - 1]);
  }
  TENSOA_HOST_DEVICE std::size_t last(const View<HitWork>& work, std::size_t source) const {
    if (width > 0) return source * width + width;
    const auto end = static_cast<std::size_t>(work.end[source]);
    return end < size ? end : size;
  }
};

/// Targets of a hit that one row found, on their way to the slots: a few at a time, since each
/// reservation of slots takes a GPU as long as finding some targets.
class FoundTargets {
 public:
  TENSOA_HOST_DEVICE FoundTargets(std::int64_t& count, std::int32_t* rows, std::size_t first,
                                  std::size_t last, GraphStatus* status)
      : count_(count), rows_(rows), first_(first), last_(last), status_(status) {}

  TENSOA_HOST_DEVICE void operator()(std::int32_t target) {
    found_[n_++] = target;
    if (n_ == kMost) flush();
  }

  TENSOA_HOST_DEVICE void flush() {
    if (n_ == 0) return;
    const auto before = static_cast<std::size_t>(events::atomic::add(count_, n_));
    const std::size_t at = first_ + before;
    for (unsigned i = 0; i < n_ && at + i < last_; ++i) rows_[at + i] = found_[i];
    if (at + n_ > last_) events::atomic::raise(status_->width, before + n_);
    n_ = 0;
  }

 private:
  static constexpr unsigned kMost = 8;

  std::int64_t& count_;
  std::int32_t* rows_;
  std::size_t first_, last_;
  GraphStatus* status_;
  unsigned n_ = 0;
  std::int32_t found_[kMost];
};

/// Finds the targets of a source by kLanes rows, each with its share of the buckets: row = source *
/// kLanes + lane. Counts all, and writes those that there is room for.
struct FindTargets {
  static constexpr std::size_t kLanes = 32;

  TargetSearch search;
  BucketPairs pairs;
  TargetSlots targets;
  GraphStatus* status;

  TENSOA_HOST_DEVICE void operator()(std::size_t row) const {
    const std::size_t source = row / kLanes;
    if (!status->has_hit(source)) return;
    const auto place = static_cast<std::size_t>(search.work.place[source]);
    const auto own = static_cast<std::size_t>(search.work.bucket_at[place] - 1);
    FoundTargets found(search.work.targets[source], targets.rows,
                       targets.first(search.work, source), targets.last(search.work, source),
                       status);
    if (pairs.are_known()) {
      const std::int32_t* const targets_of = pairs.of(own);
      const auto n_targets = static_cast<std::size_t>(search.buckets[own].targets);
      for (std::size_t i = row % kLanes; i < n_targets; i += kLanes) {
        search.scan(place, search.buckets[targets_of[i]], found);
      }
    } else {
      for (std::size_t b = row % kLanes; b < pairs.buckets(); b += kLanes) {
        const Bucket& target = search.buckets[b];
        if (search.may_follow(search.buckets[own], target)) search.scan(place, target, found);
      }
    }
    found.flush();
  }
};

/// Forgets the targets, but not where those of each hit end.
struct ClearTargets {
  View<HitWork> work;
  GraphStatus* status;

  TENSOA_HOST_DEVICE void operator()(std::size_t row) const {
    if (row == 0) status->width = 0;
    work.targets[row] = 0;
  }
};

/// Hands on the last of the running sums, in one row.
struct CountEdges {
  View<HitWork> work;
  GraphStatus* status;

  TENSOA_HOST_DEVICE void operator()(std::size_t) const {
    status->edges = work.size() > 0 ? work.end[work.size() - 1] : 0;
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

  /// No edge: from the last row, which is not a hit, to itself.
  TENSOA_HOST_DEVICE void clear(std::size_t e) const {
    edges.source[e] = edges.target[e] = static_cast<std::int64_t>(hits.size() - 1);
    edges.dr[e] = edges.dphi[e] = edges.dz[e] = edges.dR[e] = 0;
    edges.truth[e] = 0;
  }
};

/// Writes each edge where it belongs in the order of (source, target): after those of its source
/// with smaller targets. Rows beyond the edges become none.
struct FillEdges {
  EdgeColumns columns;
  TargetSlots targets;
  const GraphStatus* status;

  TENSOA_HOST_DEVICE void operator()(std::size_t row) const {
    if (row >= status->edges_in(columns.edges.size())) {
      columns.clear(row);
      return;
    }
    const std::size_t source = source_of(row);
    const std::size_t first = source == 0 ? 0 : end_of(source - 1);
    const std::int32_t* const all = targets.rows + targets.first(columns.work, source);
    const std::int32_t target = all[row - first];
    std::size_t e = first;
    for (std::size_t i = 0; i < end_of(source) - first; ++i) e += all[i] < target ? 1 : 0;
    columns.fill(e, source, static_cast<std::size_t>(target));
  }

 private:
  TENSOA_HOST_DEVICE std::size_t end_of(std::size_t source) const {
    return static_cast<std::size_t>(columns.work.end[source]);
  }

  /// The first source whose edges end after this one.
  TENSOA_HOST_DEVICE std::size_t source_of(std::size_t edge) const {
    std::size_t source = 0;
    for (std::size_t n = columns.work.size(); n > 0;) {
      const std::size_t half = n / 2;
      if (end_of(source + half) <= edge) {
        source += half + 1;
        n -= half + 1;
      } else {
        n = half;
      }
    }
    return source;
  }
};

/// Finds the targets of all hits: `status` has their number, `end` of each hit their running sum.
/// @param pairs.bits [min(n_hits, kMost) * kBytes]
template <class Launcher>
void find_targets(const Launcher& launch, const TargetSearch& search, const BucketPairs& pairs,
                  const TargetSlots& targets, GraphStatus* status) {
  const std::size_t n = search.work.size();
  launch.rows(std::min(n, BucketPairs::kMost) * PairBuckets::kRows, PairBuckets{search, pairs});
  launch.rows(n * FindTargets::kLanes, FindTargets{search, pairs, targets, status});
  launch.running_sum(search.work.targets.data(), n, search.work.end.data());
  launch.rows(1, CountEdges{search.work, status});
}

/// The same once more after find_targets(), into slots of the right size: those of width 0.
template <class Launcher>
void find_targets_again(const Launcher& launch, const TargetSearch& search,
                        const BucketPairs& pairs, const TargetSlots& targets, GraphStatus* status) {
  const std::size_t n = search.work.size();
  launch.rows(n, ClearTargets{search.work, status});
  launch.rows(n * FindTargets::kLanes, FindTargets{search, pairs, targets, status});
}

/// Fills the edges that were found, in ascending order of (source, target).
/// @param columns [n_edges], or more rows: those beyond become no edges, as all do where there are
/// fewer
template <class Launcher>
void fill_edges(const Launcher& launch, const EdgeColumns& columns, const TargetSlots& targets,
                const GraphStatus* status) {
  launch.rows(columns.edges.size(), FillEdges{columns, targets, status});
}

}  // namespace tensoa::track
