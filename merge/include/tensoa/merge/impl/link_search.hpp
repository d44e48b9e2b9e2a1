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
/// The candidate edges between fragments as kernels (events/impl/serial_launcher.hpp): one source for CPU and
/// GPU, the same edges to the bit.
///
/// Fragments are sorted into bins of an endcap, x / |z| and y / |z|: there, lines from the origin are
/// points. A bin is as wide as the largest transverse distance at the nearest cluster, so that the edges of
/// a fragment end in its own bin and the eight around it.

namespace tensoa::merge {

/// The conditions for a pair of fragments of one endcap to be a candidate edge.
struct LinkCuts {
  double max_transverse = 200;  ///< mm, Edge::transverse at most
  double max_gap = 900;  ///< mm along the beam from the end of one to the beginning of the other
};

/// The key that fragments are sorted by.
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

/// The properties of fragments that the search needs, one row for each fragment.
template <template <class> class F>
struct LinkWork {
  F<std::int64_t> targets;  ///< of the fragment: how many
  F<std::int64_t> end;      ///< targets of all fragments up to this one
};

/// An event in the memory of a device, and which of its fragments are near to one.
struct LinkSearch {
  LinkCuts cuts;
  View<Cluster> clusters;
  View<Fragment> fragments;
  View<Node> nodes;
  FragmentKey* keys;    ///< [n_fragments]
  FragmentKey* sorted;  ///< [n_fragments]
  View<LinkWork> work;
  LinkStatus* status;

  TENSOA_HOST_DEVICE std::uint64_t bin_of(std::size_t row) const {
    // The slack is for rounding, the least width for a cut of 0.
    const double width = cuts.max_transverse / status->nearest * (1 + 1e-9);
    const double of_slope = width > 1e-6 ? width : 1e-6;
    const std::uint64_t endcap = nodes.z[row] < 0 ? 0 : 1;
    return endcap << 62U | index_of(nodes.x[row], row, of_slope) << 31U |
           index_of(nodes.y[row], row, of_slope);
  }

  /// mm, at the target.
  TENSOA_HOST_DEVICE double transverse(std::size_t source, std::size_t target) const {
    const double scale = static_cast<double>(nodes.z[target]) / nodes.z[source];
    const double dx = nodes.x[target] - scale * nodes.x[source];
    const double dy = nodes.y[target] - scale * nodes.y[source];
    return std::sqrt(dx * dx + dy * dy);
  }

  /// Of each fragment near to this one, if it shares an edge with it: `found(row, is_linked, is_target)`, by all
  /// lanes together, each with its own.
  template <class Team, class Found>
  TENSOA_HOST_DEVICE void scan(const Team& team, std::size_t row, const Found& found) const {
    const std::uint64_t own = bin_of(row);
    for (int step = -1; step <= 1; ++step) {
      const std::uint64_t middle = own + (static_cast<std::uint64_t>(step) << 31U);
      for (std::size_t i = first_from(middle - 1) + team.lane();; i += team.size()) {
        const bool is_near = i < nodes.size() && sorted[i].bin <= middle + 1;
        if (!team.any(is_near)) break;
        const auto other = static_cast<std::size_t>(is_near ? sorted[i].row : 0);
        const bool is_target = is_source(row, other);
        const bool is_linked = is_near && other != row && gap(row, other) <= cuts.max_gap &&
                               is_inside(is_target ? row : other, is_target ? other : row);
        found(other, is_linked, is_target);
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

  TENSOA_HOST_DEVICE bool is_inside(std::size_t source, std::size_t target) const {
    return transverse(source, target) <= cuts.max_transverse;
  }

  TENSOA_HOST_DEVICE double gap(std::size_t a, std::size_t b) const {
    const float after = nodes.z_min[b] - nodes.z_max[a];
    const float before = nodes.z_min[a] - nodes.z_max[b];
    return after > before ? after : before;
  }

  TENSOA_HOST_DEVICE std::uint64_t index_of(float coordinate, std::size_t row, double width) const {
    constexpr double kMiddle = 1 << 28;
    const double slope = static_cast<double>(coordinate) / std::abs(nodes.z[row]);
    return static_cast<std::uint64_t>(std::floor(slope / width) + kMiddle);
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

  template <class Team>
  TENSOA_HOST_DEVICE void operator()(const Team& team, std::size_t row) const {
    std::size_t targets = 0;
    std::size_t all = 0;
    search.scan(team, row, [&](std::size_t, bool is_linked, bool is_target) {
      static_cast<void>(team.append(is_linked && is_target, targets));
      static_cast<void>(team.append(is_linked, all));
    });
    if (team.lane() > 0) return;
    search.work.targets[row] = static_cast<std::int64_t>(targets);
    search.nodes.fragment_density[row] = static_cast<float>(all);
  }
};

/// Hands on the last of the running sums, in one row.
struct CountEdges {
  LinkSearch search;

  TENSOA_HOST_DEVICE void operator()(std::size_t) const {
    search.status->edges = search.work.end[search.work.size() - 1];
  }
};

/// Writes the ends of the edges of a fragment, targets in ascending order.
struct FillEnds {
  LinkSearch search;
  View<Edge> edges;

  template <class Team>
  TENSOA_HOST_DEVICE void operator()(const Team& team, std::size_t row) const {
    if (search.status->edges_in(edges.size()) == 0) return;  // or the event has none
    const auto first = row == 0 ? 0 : static_cast<std::size_t>(search.work.end[row - 1]);
    std::size_t n = 0;
    std::int64_t* const unsorted = edges.source.data() + first;
    search.scan(team, row, [&](std::size_t other, bool is_linked, bool is_target) {
      const std::size_t place = team.append(is_linked && is_target, n);
      if (is_linked && is_target) unsorted[place] = static_cast<std::int64_t>(other);
    });
    team.sort_into(unsorted, n, edges.target.data() + first,
                   [](std::int64_t a, std::int64_t b) { return a < b; });
    for (std::size_t i = team.lane(); i < n; i += team.size()) {
      unsorted[i] = static_cast<std::int64_t>(row);
    }
  }
};

/// Fills the features of an edge, and its truth. Rows beyond the edges become none.
struct FillEdges {
  LinkSearch search;
  View<Edge> edges;

  /// Of a larger fragment this number of clusters, at equal steps, is compared, so that no edge costs more than
  /// the square of it.
  static constexpr std::size_t kMostCompared = 64;

  template <class Team>
  TENSOA_HOST_DEVICE void operator()(const Team& team, std::size_t e) const {
    if (e >= search.status->edges_in(edges.size())) {
      if (team.lane() == 0) clear(e);
      return;
    }
    const auto s = static_cast<std::size_t>(edges.source[e]);
    const auto t = static_cast<std::size_t>(edges.target[e]);
    fill_distances(team, e, s, t);
    if (team.lane() == 0) fill_rest(e, s, t);
  }

 private:
  /// No edge: from the node after the fragments to itself.
  TENSOA_HOST_DEVICE void clear(std::size_t e) const {
    edges.source[e] = edges.target[e] = static_cast<std::int64_t>(search.nodes.size());
    edges.energy_difference[e] = edges.dz[e] = edges.transverse[e] = 0;
    edges.nearest[e] = edges.farthest[e] = edges.time_difference[e] = edges.cosine[e] = 0;
    edges.truth[e] = 0;
  }

  TENSOA_HOST_DEVICE void fill_rest(std::size_t e, std::size_t s, std::size_t t) const {
    const View<Node>& nodes = search.nodes;
    const View<Fragment>& fragments = search.fragments;
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
  }

  /// The clusters of a fragment that are compared.
  struct Compared {
    std::size_t first, step, n;

    TENSOA_HOST_DEVICE static Compared of(const View<Fragment>& fragments, std::size_t row) {
      const auto first = static_cast<std::size_t>(fragments.first[row]);
      const std::size_t all = static_cast<std::size_t>(fragments.last[row]) - first;
      const std::size_t step = (all + kMostCompared - 1) / kMostCompared;
      return {first, step, (all + step - 1) / step};
    }
  };

  /// Lanes share the clusters of the fragment of more.
  template <class Team>
  TENSOA_HOST_DEVICE void fill_distances(const Team& team, std::size_t e, std::size_t s,
                                         std::size_t t) const {
    const View<Cluster>& clusters = search.clusters;
    const Compared of_s = Compared::of(search.fragments, s);
    const Compared of_t = Compared::of(search.fragments, t);
    const Compared& many = of_s.n > of_t.n ? of_s : of_t;
    const Compared& few = of_s.n > of_t.n ? of_t : of_s;
    double extremes[2] = {-1e30, 0};  // of the square: the smallest with a minus, the largest
    team.most(many.n, extremes, [&](std::size_t place, double(&to)[2]) {
      const std::size_t i = many.first + place * many.step;
      const double at[3] = {clusters.x[i], clusters.y[i], clusters.z[i]};
      double nearest = -to[0];
      double farthest = to[1];
      for (std::size_t k = 0; k < few.n; ++k) {
        const std::size_t j = few.first + k * few.step;
        const double x = at[0] - clusters.x[j];
        const double y = at[1] - clusters.y[j];
        const double z = at[2] - clusters.z[j];
        const double square = x * x + y * y + z * z;
        nearest = square < nearest ? square : nearest;
        farthest = square > farthest ? square : farthest;
      }
      to[0] = -nearest;
      to[1] = farthest;
    });
    if (team.lane() > 0) return;
    edges.nearest[e] = static_cast<float>(std::sqrt(-extremes[0]));
    edges.farthest[e] = static_cast<float>(std::sqrt(extremes[1]));
  }
};

/// Nothing is known of the event, in one row.
struct ClearStatus {
  LinkStatus* status;

  TENSOA_HOST_DEVICE void operator()(std::size_t) const { *status = LinkStatus(); }
};

/// Clusters to node features to the number of edges.
template <class Launcher>
void find_links(const Launcher& launch, const LinkSearch& search) {
  const std::size_t n = search.nodes.size();
  launch.rows(1, ClearStatus{search.status});
  launch.warps(n, FillNodes{search.clusters, search.fragments, search.nodes, search.status});
  launch.rows(n, FillKeys{search});
  launch.sort(search.keys, n, search.sorted, FragmentKey::Less{});
  launch.warps(n, CountTargets{search});
  launch.running_sum(search.work.targets.data(), n, search.work.end.data());
  launch.rows(1, CountEdges{search});
}

/// Fills the edges that were counted, in ascending order of (source, target), all columns but `score`.
/// @param edges [n_edges], or more rows: those beyond become no edges, as all do where there are fewer
template <class Launcher>
void fill_links(const Launcher& launch, const LinkSearch& search, View<Edge> edges) {
  launch.warps(search.work.size(), FillEnds{search, edges});
  launch.warps(edges.size(), FillEdges{search, edges});
}

}  // namespace tensoa::merge
