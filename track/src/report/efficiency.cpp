// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/efficiency.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ratio.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::track {

std::optional<Interval> binomial_interval(std::size_t part, std::size_t whole) {
  if (whole == 0) return std::nullopt;
  constexpr double kZ = 1;  // standard deviations
  const auto n = static_cast<double>(whole);
  const double p = static_cast<double>(part) / n;
  const double centre = (p + kZ * kZ / (2 * n)) / (1 + kZ * kZ / n);
  const double half = kZ / (1 + kZ * kZ / n) * std::sqrt(p * (1 - p) / n + kZ * kZ / (4 * n * n));
  // The ends at 0 and 1 are exact but for rounding.
  return Interval{.low = part == 0 ? 0 : centre - half, .high = part == whole ? 1 : centre + half};
}

std::optional<double> ParticleCounts::efficiency() const { return events::ratio(found, particles); }

std::optional<double> ParticleCounts::ceiling() const {
  return events::ratio(findable, with_edges);
}

std::optional<double> ParticleCounts::technical_efficiency() const {
  return events::ratio(findable_found, findable);
}

ParticleCounts& ParticleCounts::operator+=(const ParticleCounts& other) {
  particles += other.particles;
  found += other.found;
  with_edges += other.with_edges;
  findable += other.findable;
  findable_found += other.findable_found;
  return *this;
}

EfficiencyBins::EfficiencyBins(std::vector<double> edges) : edges_(std::move(edges)) {
  if (edges_.size() < 2 || !std::is_sorted(edges_.begin(), edges_.end())) {
    throw ConfigError("EfficiencyBins: expected two edges or more, ascending");
  }
  bins_.resize(edges_.size() - 1);
}

void EfficiencyBins::add(double value, const ParticleCounts& counts) {
  const bool is_inside = value >= edges_.front() && value < edges_.back();
  const auto next = std::upper_bound(edges_.begin(), edges_.end(), value);
  (is_inside ? bins_[static_cast<std::size_t>(next - edges_.begin()) - 1] : outside_) += counts;
}

EfficiencyBins& EfficiencyBins::operator+=(const EfficiencyBins& other) {
  if (edges_ != other.edges_) {
    throw ConfigError("EfficiencyBins: got other bins to add, expected the same edges");
  }
  for (std::size_t i = 0; i < bins_.size(); ++i) bins_[i] += other.bins_[i];
  outside_ += other.outside_;
  return *this;
}

}  // namespace tensoa::track
