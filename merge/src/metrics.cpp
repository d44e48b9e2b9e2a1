// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/merge/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "ratio.hpp"

namespace tensoa::merge {
namespace {

/// The key of the largest energy; of equal ones the smallest.
std::int64_t largest(const std::map<std::int64_t, double>& energies) {
  const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::max_element(energies.begin(), energies.end(), less)->first;
}

/// Energy by shower and by merged particle.
struct Energies {
  std::map<std::int64_t, double> of_shower;  // all clusters
  std::map<std::int64_t, std::map<std::int64_t, double>> by_merged, by_shower;
  std::map<std::int64_t, double> of_merged;

  explicit Energies(const Event& event) {
    const ConstView<Cluster> clusters = event.clusters.const_view();
    const ConstView<Fragment> fragments = event.fragments.const_view();
    for (std::size_t i = 0; i < clusters.size(); ++i) {
      of_shower[clusters.particle_id[i]] += clusters.energy[i];
    }
    for (std::size_t f = 0; f < fragments.size(); ++f) {
      const std::int64_t merged = fragments.merged_id[f];
      for (auto i = fragments.first[f]; i < fragments.last[f]; ++i) {
        const auto row = static_cast<std::size_t>(i);
        const std::int64_t shower = clusters.particle_id[row];
        by_merged[merged][shower] += clusters.energy[row];
        by_shower[shower][merged] += clusters.energy[row];
        of_merged[merged] += clusters.energy[row];
      }
    }
  }
};

}  // namespace

std::optional<double> MergeCounts::efficiency() const { return events::ratio(joined, fragments); }

std::optional<double> MergeCounts::shower_efficiency() const {
  return events::ratio(found, showers);
}

std::optional<double> MergeCounts::purity() const {
  return events::ratio(pure_energy, merged_energy);
}

std::optional<double> MergeCounts::resolution() const {
  const auto low = quantile(0.16);
  const auto high = quantile(0.84);
  return low && *response() > 0 ? std::optional((*high - *low) / 2 / *response()) : std::nullopt;
}

/// Linear inside of a bin.
std::optional<double> MergeCounts::quantile(double part) const {
  if (found == 0) return std::nullopt;
  double left = part * static_cast<double>(found);
  std::size_t bin = 0;
  for (; bin + 1 < kBins && left > static_cast<double>(responses[bin]); ++bin) {
    left -= static_cast<double>(responses[bin]);
  }
  const double here = responses[bin] > 0 ? left / static_cast<double>(responses[bin]) : 0;
  return 0.01 * (static_cast<double>(bin) + here);
}

MergeCounts& MergeCounts::operator+=(const MergeCounts& other) {
  showers += other.showers;
  found += other.found;
  fragments += other.fragments;
  joined += other.joined;
  merged += other.merged;
  pure_energy += other.pure_energy;
  merged_energy += other.merged_energy;
  std::ranges::transform(responses, other.responses, responses.begin(), std::plus<>());
  return *this;
}

MergeCounts count_merged(const Event& event) {
  const Energies energies(event);
  MergeCounts counts{.merged = energies.of_merged.size()};
  std::map<std::int64_t, std::int64_t> merged_of_found;
  for (const auto& [shower, energy] : energies.of_shower) {
    if (shower == 0 || energy < kLeastShower) continue;
    ++counts.showers;
    const auto by_merged = energies.by_shower.find(shower);
    if (by_merged == energies.by_shower.end()) continue;  // all its clusters are on no fragment
    const std::int64_t merged = largest(by_merged->second);
    if (largest(energies.by_merged.at(merged)) != shower) continue;
    merged_of_found[shower] = merged;
    ++counts.found;
    const double whole = energies.of_merged.at(merged);
    counts.pure_energy += by_merged->second.at(merged);
    counts.merged_energy += whole;
    const auto bin = static_cast<std::size_t>(100 * whole / energy);
    ++counts.responses[std::min(bin, MergeCounts::kBins - 1)];
  }
  const ConstView<Cluster> clusters = event.clusters.const_view();
  const ConstView<Fragment> fragments = event.fragments.const_view();
  for (std::size_t f = 0; f < fragments.size(); ++f) {
    const std::int64_t shower = fragments.particle_id[f];
    const double of_shower = energies.of_shower.at(shower);
    if (shower == 0 || of_shower < kLeastShower) continue;
    double energy = 0;
    for (auto i = fragments.first[f]; i < fragments.last[f]; ++i) {
      energy += clusters.energy[static_cast<std::size_t>(i)];
    }
    if (energy < kLeastPart * of_shower) continue;
    ++counts.fragments;
    const auto merged = merged_of_found.find(shower);
    counts.joined +=
        merged != merged_of_found.end() && merged->second == fragments.merged_id[f] ? 1 : 0;
  }
  return counts;
}

}  // namespace tensoa::merge
