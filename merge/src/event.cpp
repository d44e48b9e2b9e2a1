// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/merge/event.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <sstream>
#include <utility>
#include <vector>

#include "tensoa/core/error.hpp"

namespace tensoa::merge {
namespace {

/// Throws unless `value`, which may be NaN, is in a range.
template <class T>
void require(const std::string& event, std::size_t row, const char* name, T value, T least, T most,
             const char* unit) {
  if (value >= least && value <= most) return;
  std::ostringstream text;
  text << "event " << event << ": cluster " << row << ": got " << name << " = " << value
       << ", expected " << least << " to " << most << unit;
  throw InputError(text.str());
}

void require_clusters(const std::string& event, ConstView<Cluster> clusters) {
  constexpr float kFar = 1e5F;
  constexpr float kNear = 1e3F;
  constexpr float kMost = 1e6F;
  constexpr auto kLargest = std::numeric_limits<std::int32_t>::max();
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    require(event, i, "x", clusters.x[i], -kFar, kFar, " mm");
    require(event, i, "y", clusters.y[i], -kFar, kFar, " mm");
    require(event, i, "|z|", std::abs(clusters.z[i]), kNear, kFar, " mm, of an endcap");
    require(event, i, "energy", clusters.energy[i], 0.0F, kMost, " GeV");
    require(event, i, "time", clusters.time[i], -kMost, kMost, " ns");
    require(event, i, "layer", clusters.layer[i], 1, kLargest, "");
    require(event, i, "cells", clusters.cells[i], 1, kLargest, "");
    require(event, i, "fragment_id", clusters.fragment_id[i], std::int64_t{-1},
            std::numeric_limits<std::int64_t>::max(), "; -1 = on no fragment");
  }
}

/// The particle of most energy; of equal ones the one of the smaller number.
std::int64_t main_particle(ConstView<Cluster> clusters, std::size_t first, std::size_t last) {
  std::map<std::int64_t, double> energies;
  for (std::size_t i = first; i < last; ++i) {
    energies[clusters.particle_id[i]] += clusters.energy[i];
  }
  const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::max_element(energies.begin(), energies.end(), less)->first;
}

}  // namespace

Event make_event(std::string name, ConstView<Cluster> clusters, bool has_truth) {
  require_clusters(name, clusters);
  const std::size_t n = clusters.size();
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto key = [&](std::size_t row) {
    return static_cast<std::uint64_t>(clusters.fragment_id[row]);  // -1 is the largest
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });

  Event event;
  event.name = std::move(name);
  event.has_truth = has_truth;
  event.clusters = PortableCollection<Cluster>(n, Device::cpu());
  const View<Cluster> to = event.clusters.view();
  std::vector<std::size_t> firsts;  // and the end of the last fragment
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t row = order[i];
    to.x[i] = clusters.x[row];
    to.y[i] = clusters.y[row];
    to.z[i] = clusters.z[row];
    to.energy[i] = clusters.energy[row];
    to.time[i] = clusters.time[row];
    to.layer[i] = clusters.layer[row];
    to.cells[i] = clusters.cells[row];
    to.fragment_id[i] = clusters.fragment_id[row];
    to.particle_id[i] = clusters.particle_id[row];
    if (i == 0 || to.fragment_id[i] != to.fragment_id[i - 1]) firsts.push_back(i);
  }
  if (n == 0 || to.fragment_id[n - 1] >= 0) firsts.push_back(n);
  event.fragments = PortableCollection<Fragment>(firsts.size() - 1, Device::cpu());
  const View<Fragment> fragments = event.fragments.view();
  for (std::size_t f = 0; f < fragments.size(); ++f) {
    fragments.fragment_id[f] = to.fragment_id[firsts[f]];
    fragments.first[f] = static_cast<std::int64_t>(firsts[f]);
    fragments.last[f] = static_cast<std::int64_t>(firsts[f + 1]);
    fragments.particle_id[f] =
        has_truth ? main_particle(event.clusters.const_view(), firsts[f], firsts[f + 1]) : 0;
    fragments.merged_id[f] = -1;
  }
  return event;
}

}  // namespace tensoa::merge
