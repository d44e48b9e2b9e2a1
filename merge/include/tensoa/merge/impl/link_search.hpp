// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "tensoa/events/impl/arithmetic.hpp"
#include "tensoa/merge/event.hpp"
#include "tensoa/merge/impl/node_features.hpp"

/// @file
/// The candidate edges between fragments as kernels, for the launchers of track/impl/hit_buckets.hpp: one
/// source for CPU and GPU, the same edges to the bit.
///
/// Fragments are sorted into bins of an endcap, x / |z| and y / |z|: there, lines from the origin are
/// points. A bin is as wide as the largest transverse distance at the nearest cluster, so that the edges of
/// a fragment end in its own bin and the eight around it.

namespace tensoa::merge {

/// What a pair of fragments of one endcap must fulfil to be a candidate edge.
struct LinkCuts {
  double max_transverse = 200;  ///< mm, Edge::transverse at most
  double max_gap = 900;  ///< mm along the beam from the end of one to the beginning of the other
};

/// What fragments are sorted by.
struct FragmentKey {
  std::uint64_t bin;  ///< endcap, bin of x / |z|, bin of y / |z|
  std::int32_t row;

  /// A total order: the same result with every sort.
  struct Less {
    TENSOA_HOST_DEVICE bool operator()(const FragmentKey& a, const FragmentKey& b) const {
      return a.bin != b.bin ? a.bin < b.bin : a.row < b.row;
    }
  };
};

/// What the search needs of fragments, one row a fragment.
template <template <class> class F>
struct LinkWork {
  F<std::int64_t> targets;  ///< of the fragment: how many
  F<std::int64_t> end;      ///< targets of all fragments up to this one
};

/// An event in the memory of a device, and which of its fragments are near to one.
struct LinkSearch {
  LinkCuts cuts;
  double bin_width;  ///< of x / |z|
  View<Cluster> clusters;
  View<Fragment> fragments;
  View<Node> nodes;
  FragmentKey* keys;    ///< [n_fragments]
  FragmentKey* sorted;  ///< [n_fragments]
  View<LinkWork> work;
  std::int64_t* n_edges;

  TENSOA_HOST_DEVICE std::uint64_t bin_of(std::size_t row) const {
    const std::uint64_t endcap = nodes.z[row] < 0 ? 0 : 1;
    return endcap << 62U | index_of(nodes.x[row], row) << 31U | index_of(nodes.y[row], row);
  }

  /// mm, at the target.
  TENSOA_HOST_DEVICE double transverse(std::size_t source, std::size_t target) const {
    const double scale = static_cast<double>(nodes.z[target]) / nodes.z[source];
    const double dx = nodes.x[target] - scale * nodes.x[source];
    const double dy = nodes.y[target] - scale * nodes.y[source];
    return std::sqrt(dx * dx + dy * dy);
  }

  /// Calls `found(row, is_target)` for all that share an edge with the fragment.
  template <class Found>
  TENSOA_HOST_DEVICE void scan(std::size_t row, Found& found) const {
    const std::uint64_t own = bin_of(row);
    for (int step = -1; step <= 1; ++step) {
      const std::uint64_t middle = own + (static_cast<std::uint64_t>(step) << 31U);
      for (std::size_t i = first_from(middle - 1); i < nodes.size() && sorted[i].bin <= middle + 1;
           ++i) {
        const auto other = static_cast<std::size_t>(sorted[i].row);
        if (other == row) continue;
        const bool is_target = is_source(row, other);
        const double distance = is_target ? transverse(row, other) : transverse(other, row);
        if (distance > cuts.max_transverse || gap(row, other) > cuts.max_gap) continue;
        found(other, is_target);
      }
    }
  }

 private:
  /// Whether the first of two fragments is the source of an edge between them.
  TENSOA_HOST_DEVICE bool is_source(std::size_t a, std::size_t b) const {
    const float depth_a = std::abs(nodes.z[a]);
    const float depth_b = std::abs(nodes.z[b]);
    return depth_a != depth_b ? depth_a < depth_b : a < b;
  }

  TENSOA_HOST_DEVICE double gap(std::size_t a, std::size_t b) const {
    const float after = nodes.z_min[b] - nodes.z_max[a];
    const float before = nodes.z_min[a] - nodes.z_max[b];
    return after > before ? after : before;
  }

  TENSOA_HOST_DEVICE std::uint64_t index_of(float coordinate, std::size_t row) const {
    constexpr double kMiddle = 1 << 28;
    const double slope = static_cast<double>(coordinate) / std::abs(nodes.z[row]);
    return static_cast<std::uint64_t>(std::floor(slope / bin_width) + kMiddle);
  }

  /// The first place whose bin is not below `bin`; by hand as in track/impl/edge_search.hpp.
  TENSOA_HOST_DEVICE std::size_t first_from(std::uint64_t bin) const {
    std::size_t first = 0;
    for (std::size_t n = nodes.size(); n > 0;) {
      const std::size_t half = n / 2;
      if (sorted[first + half].bin < bin) {
        first += half + 1;
        n -= half + 1;
      } else {
        n = half;
      }
    }
    return first;
  }
};

struct FillKeys {
  LinkSearch search;

  TENSOA_HOST_DEVICE void operator()(std::size_t row) const {
    search.keys[row] = {search.bin_of(row), static_cast<std::int32_t>(row)};
  }
};

/// Counts the edges of a fragment.
struct CountTargets {
  LinkSearch search;

  TENSOA_HOST_DEVICE void operator()(std::size_t row) const {
    std::int64_t targets = 0;
    std::int64_t all = 0;
    auto count = [&](std::size_t, bool is_target) {
      targets += is_target ? 1 : 0;
      ++all;
    };
    search.scan(row, count);
    search.work.targets[row] = targets;
    search.nodes.fragment_density[row] = static_cast<float>(all);
  }
};

/// Hands on the last of the running sums, in one row.
struct CountEdges {
  LinkSearch search;

  TENSOA_HOST_DEVICE void operator()(std::size_t) const {
    *search.n_edges = search.work.end[search.work.size() - 1];
  }
};

/// Writes the ends of the edges of a fragment, targets in ascending order.
struct FillEnds {
  LinkSearch search;
  View<Edge> edges;

  TENSOA_HOST_DEVICE void operator()(std::size_t row) const {
    const auto first = row == 0 ? 0 : static_cast<std::size_t>(search.work.end[row - 1]);
    std::size_t last = first;
    auto insert = [&](std::size_t other, bool is_target) {  // into those before: there are few
      if (!is_target) return;
      const auto target = static_cast<std::int64_t>(other);
      std::size_t at = last++;
      for (; at > first && edges.target[at - 1] > target; --at) {
        edges.target[at] = edges.target[at - 1];
      }
      edges.target[at] = target;
      edges.source[last - 1] = static_cast<std::int64_t>(row);
    };
    search.scan(row, insert);
  }
};

/// Fills the features of an edge, and its truth.
struct FillEdges {
  LinkSearch search;
  View<Edge> edges;

  /// Of a larger fragment so many clusters at equal steps are compared, so that no edge costs more than
  /// the square of it.
  static constexpr std::size_t kMostCompared = 64;

  TENSOA_HOST_DEVICE void operator()(std::size_t e) const {
    const View<Node>& nodes = search.nodes;
    const View<Fragment>& fragments = search.fragments;
    const auto s = static_cast<std::size_t>(edges.source[e]);
    const auto t = static_cast<std::size_t>(edges.target[e]);
    edges.energy_difference[e] = std::abs(nodes.energy[t] - nodes.energy[s]);
    edges.dz[e] = std::abs(nodes.z[t]) - std::abs(nodes.z[s]);
    edges.transverse[e] = static_cast<float>(search.transverse(s, t));
    const bool has_times = nodes.time[s] != kNoTime && nodes.time[t] != kNoTime;
    edges.time_difference[e] = has_times ? nodes.time[t] - nodes.time[s] : 0;
    const double x = static_cast<double>(nodes.x[t]) - nodes.x[s];
    const double y = static_cast<double>(nodes.y[t]) - nodes.y[s];
    const double z = static_cast<double>(nodes.z[t]) - nodes.z[s];
    const double length = std::sqrt(x * x + y * y + z * z);
    const double along = x * nodes.axis_x[s] + y * nodes.axis_y[s] + z * nodes.axis_z[s];
    edges.cosine[e] = length > 0 ? static_cast<float>(along / length) : 1;
    const std::int64_t particle = fragments.particle_id[s];
    edges.truth[e] = particle != 0 && particle == fragments.particle_id[t] ? 1 : 0;
    fill_distances(e, s, t);
  }

 private:
  TENSOA_HOST_DEVICE void fill_distances(std::size_t e, std::size_t s, std::size_t t) const {
    const View<Cluster>& clusters = search.clusters;
    double nearest = 1e30;
    double farthest = 0;
    const auto last_s = static_cast<std::size_t>(search.fragments.last[s]);
    const auto last_t = static_cast<std::size_t>(search.fragments.last[t]);
    const auto first_t = static_cast<std::size_t>(search.fragments.first[t]);
    auto i = static_cast<std::size_t>(search.fragments.first[s]);
    const std::size_t step_s = (last_s - i + kMostCompared - 1) / kMostCompared;
    const std::size_t step_t = (last_t - first_t + kMostCompared - 1) / kMostCompared;
    for (; i < last_s; i += step_s) {
      for (std::size_t j = first_t; j < last_t; j += step_t) {
        const double x = static_cast<double>(clusters.x[i]) - clusters.x[j];
        const double y = static_cast<double>(clusters.y[i]) - clusters.y[j];
        const double z = static_cast<double>(clusters.z[i]) - clusters.z[j];
        const double distance = x * x + y * y + z * z;
        if (distance < nearest) nearest = distance;
        if (distance > farthest) farthest = distance;
      }
    }
    edges.nearest[e] = static_cast<float>(std::sqrt(nearest));
    edges.farthest[e] = static_cast<float>(std::sqrt(farthest));
  }
};

/// Clusters to node features to the number of edges.
template <class Launcher>
void find_links(const Launcher& launch, const LinkSearch& search) {
  const std::size_t n = search.nodes.size();
  launch.rows(n, FillNodes{search.clusters, search.fragments, search.nodes});
  launch.rows(n, FillKeys{search});
  launch.sort(search.keys, n, search.sorted, FragmentKey::Less{});
  launch.rows(n, CountTargets{search});
  launch.running_sum(search.work.targets.data(), n, search.work.end.data());
  launch.rows(1, CountEdges{search});
}

/// Fills the edges that were counted, in ascending order of (source, target), all columns but `score`.
template <class Launcher>
void fill_links(const Launcher& launch, const LinkSearch& search, View<Edge> edges) {
  launch.rows(search.work.size(), FillEnds{search, edges});
  launch.rows(edges.size(), FillEdges{search, edges});
}

}  // namespace tensoa::merge
