// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/graph_builder.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <utility>

#include "tensoa/core/error.hpp"

namespace tensoa::track {
namespace {

constexpr double kPi = std::numbers::pi;

// The scale of the node features.
constexpr double kRadiusScale = 3000.0;
constexpr double kZScale = 400.0;

// Bin widths of the buckets in mm: small enough to skip most pairs, large enough to keep buckets
// few.
constexpr double kRadiusBin = 50.0;
constexpr double kZBin = 250.0;

// Slack in mm for rounding where a bound only skips work.
constexpr double kSlack = 1e-6;

// A hit on the beam line has no finite eta; this radius in mm stands in for it.
constexpr double kSmallestRadius = 1e-3;

std::uint64_t bin_of(double value, double width, double offset) {
  return static_cast<std::uint64_t>(std::clamp(std::floor(value / width) + offset, 0.0, 65535.0));
}

std::uint64_t bucket_key(std::int32_t layer, double r, double z) {
  return std::uint64_t{static_cast<std::uint32_t>(layer)} << 32 | bin_of(r, kRadiusBin, 0) << 16 |
         bin_of(z, kZBin, 32768);
}

// Capacity for n rows after one that was too small.
std::size_t grown(std::size_t capacity, std::size_t n) {
  return std::max(n, capacity + capacity / 2);
}

void require_cut(const char* name, double value) {
  if (!std::isfinite(value) || value < 0) {
    throw ConfigError("graph cut " + std::string(name) + ": got " + std::to_string(value) +
                      ", expected a finite number that is not negative");
  }
}

}  // namespace

GraphBuilder::GraphBuilder(const GraphCuts& cuts) : cuts_(cuts) {
  require_cut("min_dr", cuts.min_dr);
  require_cut("max_dphi", cuts.max_dphi);
  require_cut("max_dphi_per_dr", cuts.max_dphi_per_dr);
  require_cut("max_distance", cuts.max_distance);
  require_cut("max_z0", cuts.max_z0);
}

PortableCollection<Edge>& GraphBuilder::build(View<Hit> hits) {
  fill_node_columns(hits);
  sort_into_buckets(hits);
  pair_buckets();
  find_targets(hits.size());
  fill_edge_columns(hits);
  return edges_;
}

void GraphBuilder::Sorted::resize(std::size_t n) {
  for (auto* column : {&x, &y, &z, &r, &phi}) column->resize(n);
  row.resize(n);
}

void GraphBuilder::fill_node_columns(View<Hit> hits) {
  const std::size_t n = hits.size();
  if (n > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw InputError("event of " + std::to_string(n) + " hits, expected fewer than 2^31");
  }
  r_.resize(n);
  phi_.resize(n);
  eta_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double x = hits.x[i];
    const double y = hits.y[i];
    const double z = hits.z[i];
    if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(z)) {
      throw InputError("hit row " + std::to_string(i) +
                       ": got a NaN or infinite coordinate, expected mm");
    }
    r_[i] = std::sqrt(x * x + y * y);
    phi_[i] = std::atan2(y, x);
    eta_[i] = static_cast<float>(std::asinh(z / std::max(r_[i], kSmallestRadius)));
    hits.r_scaled[i] = static_cast<float>(r_[i] / kRadiusScale);
    hits.phi_scaled[i] = static_cast<float>(phi_[i] / kPi);
    hits.z_scaled[i] = static_cast<float>(z / kZScale);
  }
}

void GraphBuilder::sort_into_buckets(View<Hit> hits) {
  const std::size_t n = hits.size();
  keys_.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    keys_[i] = {bucket_key(hits.layer[i], r_[i], hits.z[i]), phi_[i], static_cast<std::int32_t>(i)};
  }
  std::sort(keys_.begin(), keys_.end(), [](const Key& a, const Key& b) {
    if (a.bucket != b.bucket) return a.bucket < b.bucket;
    return a.phi != b.phi ? a.phi < b.phi : a.row < b.row;
  });

  sorted_.resize(n);
  place_.resize(n);
  bucket_of_.resize(n);
  buckets_.clear();
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = static_cast<std::size_t>(keys_[i].row);
    const double r = r_[row];
    const double z = hits.z[row];
    if (i == 0 || keys_[i].bucket != keys_[i - 1].bucket) {
      const auto first = static_cast<std::int32_t>(i);
      buckets_.push_back({first, first, hits.layer[row], r, r, z, z});
    }
    Bucket& bucket = buckets_.back();
    ++bucket.last;
    bucket.r_min = std::min(bucket.r_min, r);
    bucket.r_max = std::max(bucket.r_max, r);
    bucket.z_min = std::min(bucket.z_min, z);
    bucket.z_max = std::max(bucket.z_max, z);

    sorted_.x[i] = hits.x[row];
    sorted_.y[i] = hits.y[row];
    sorted_.z[i] = z;
    sorted_.r[i] = r;
    sorted_.phi[i] = phi_[row];
    sorted_.row[i] = keys_[i].row;
    place_[row] = i;
    bucket_of_[i] = static_cast<std::int32_t>(buckets_.size() - 1);
  }
}

// The line through a target (r_t, z_t) and (0, z0) has at r_s = f * r_t the z of f * z_t + (1 - f)
// * z0. For the bounds of two buckets, a source can only lie between the extremes of that, which
// are at corners.
bool GraphBuilder::compatible(const Bucket& source, const Bucket& target) const {
  if (source.layer == target.layer && source.layer != 0) return false;
  if (target.r_max - source.r_min < cuts_.min_dr - kSlack) return false;
  if (target.r_min - source.r_max > cuts_.max_distance + kSlack) return false;
  if (target.z_min - source.z_max > cuts_.max_distance + kSlack) return false;
  if (source.z_min - target.z_max > cuts_.max_distance + kSlack) return false;
  if (target.r_max <= 0) return false;
  const double f_min = source.r_min / target.r_max;
  const double f_max = source.r_max < target.r_min ? source.r_max / target.r_min : 1.0;
  const auto upper = [&](double f) { return f * target.z_max + (1 - f) * cuts_.max_z0; };
  const auto lower = [&](double f) { return f * target.z_min - (1 - f) * cuts_.max_z0; };
  return source.z_min <= std::max(upper(f_min), upper(f_max)) + kSlack &&
         source.z_max >= std::min(lower(f_min), lower(f_max)) - kSlack;
}

void GraphBuilder::pair_buckets() {
  pairs_.clear();
  pairs_begin_.clear();
  pairs_begin_.push_back(0);
  for (const Bucket& source : buckets_) {
    for (std::size_t target = 0; target < buckets_.size(); ++target) {
      if (compatible(source, buckets_[target])) pairs_.push_back(static_cast<std::int32_t>(target));
    }
    pairs_begin_.push_back(pairs_.size());
  }
}

void GraphBuilder::find_targets(std::size_t n_hits) {
  targets_.clear();
  begin_.clear();
  begin_.push_back(0);
  for (std::size_t row = 0; row < n_hits; ++row) {
    const std::size_t source = place_[row];
    const auto bucket = static_cast<std::size_t>(bucket_of_[source]);
    for (std::size_t k = pairs_begin_[bucket]; k < pairs_begin_[bucket + 1]; ++k) {
      scan(source, buckets_[static_cast<std::size_t>(pairs_[k])]);
    }
    std::sort(targets_.begin() + static_cast<std::ptrdiff_t>(begin_.back()), targets_.end());
    begin_.push_back(targets_.size());
  }
}

void GraphBuilder::scan(std::size_t source, const Bucket& bucket) {
  const double r = sorted_.r[source];
  const double z = sorted_.z[source];
  const double max_dr = bucket.r_max - r;
  if (max_dr < cuts_.min_dr || bucket.r_min - r > cuts_.max_distance) return;

  // As in compatible(), for one source.
  const double f_min = r / bucket.r_max;
  const double f_max = r < bucket.r_min ? r / bucket.r_min : 1.0;
  const double upper = std::max(f_min * bucket.z_max + (1 - f_min) * cuts_.max_z0,
                                f_max * bucket.z_max + (1 - f_max) * cuts_.max_z0);
  const double lower = std::min(f_min * bucket.z_min - (1 - f_min) * cuts_.max_z0,
                                f_max * bucket.z_min - (1 - f_max) * cuts_.max_z0);
  if (z > upper + kSlack || z < lower - kSlack) return;

  const double window = std::min(cuts_.max_dphi, cuts_.max_dphi_per_dr * max_dr) + kSlack;
  const double phi = sorted_.phi[source];
  if (window >= kPi) {
    scan_window(source, bucket, -kPi, kPi);
    return;
  }
  scan_window(source, bucket, phi - window, phi + window);
  if (phi - window < -kPi) scan_window(source, bucket, phi - window + 2 * kPi, kPi);
  if (phi + window > kPi) scan_window(source, bucket, -kPi, phi + window - 2 * kPi);
}

void GraphBuilder::scan_window(std::size_t source, const Bucket& bucket, double phi_min,
                               double phi_max) {
  const double r = sorted_.r[source];
  const double phi = sorted_.phi[source];
  const double x = sorted_.x[source];
  const double y = sorted_.y[source];
  const double z = sorted_.z[source];
  const double* phis = sorted_.phi.data();
  const double* first = std::lower_bound(phis + bucket.first, phis + bucket.last, phi_min);
  const auto last = static_cast<std::size_t>(bucket.last);
  for (auto i = static_cast<std::size_t>(first - phis); i < last && phis[i] <= phi_max; ++i) {
    const double dr = sorted_.r[i] - r;
    if (!(dr > 0) || dr < cuts_.min_dr) continue;
    double dphi = std::abs(phis[i] - phi);
    if (dphi > kPi) dphi = 2 * kPi - dphi;
    if (dphi > cuts_.max_dphi || dphi > cuts_.max_dphi_per_dr * dr) continue;
    const double dz = sorted_.z[i] - z;
    if (std::abs(z - r * dz / dr) > cuts_.max_z0) continue;
    const double dx = sorted_.x[i] - x;
    const double dy = sorted_.y[i] - y;
    if (dx * dx + dy * dy + dz * dz > cuts_.max_distance * cuts_.max_distance) continue;
    targets_.push_back(sorted_.row[i]);
  }
}

void GraphBuilder::fill_edge_columns(View<Hit> hits) {
  const std::size_t n_edges = targets_.size();
  if (n_edges > edges_.capacity()) {
    edges_ = PortableCollection<Edge>(grown(edges_.capacity(), n_edges), Device::cpu());
  }
  edges_.resize(n_edges);
  const View<Edge> edges = edges_.view();
  const std::size_t n_hits = hits.size();
  for (std::size_t s = 0; s < n_hits; ++s) {
    for (std::size_t e = begin_[s]; e < begin_[s + 1]; ++e) {
      const auto t = static_cast<std::size_t>(targets_[e]);
      float dphi = hits.phi_scaled[t] - hits.phi_scaled[s];
      if (dphi > 1) dphi -= 2;
      if (dphi < -1) dphi += 2;
      const float deta = eta_[t] - eta_[s];
      const float dphi_rad = dphi * std::numbers::pi_v<float>;
      edges.source[e] = static_cast<std::int64_t>(s);
      edges.target[e] = static_cast<std::int64_t>(t);
      edges.dr[e] = hits.r_scaled[t] - hits.r_scaled[s];
      edges.dphi[e] = dphi;
      edges.dz[e] = hits.z_scaled[t] - hits.z_scaled[s];
      edges.dR[e] = std::sqrt(deta * deta + dphi_rad * dphi_rad);
      edges.truth[e] = hits.particle_id[s] != 0 && hits.particle_id[s] == hits.particle_id[t];
    }
  }
}

}  // namespace tensoa::track
