// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "tensoa/events/impl/arithmetic.hpp"
#include "tensoa/merge/event.hpp"

/// @file
/// The node features of fragments as a kernel: one row a fragment, the same bits on CPU and GPU
/// (events/impl/serial_launcher.hpp).

namespace tensoa::merge {

/// A symmetric matrix of 3 x 3 numbers: its eigenvalues in descending order, and a vector of each.
struct Eigen3 {
  double values[3];
  double vectors[3][3];  ///< [value][coordinate], of length 1

  /// By rotations of Jacobi, which are exact to the last bits for so small a matrix.
  /// @param m xx, xy, xz, yy, yz, zz
  TENSOA_HOST_DEVICE static Eigen3 of(const double (&m)[6]) {
    double a[3][3] = {{m[0], m[1], m[2]}, {m[1], m[3], m[4]}, {m[2], m[4], m[5]}};
    double v[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    constexpr int kSweeps = 12;  // five reach the last bit
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      if (a[0][1] == 0 && a[0][2] == 0 && a[1][2] == 0) break;
      rotate(a, v, 0, 1);
      rotate(a, v, 0, 2);
      rotate(a, v, 1, 2);
    }
    Eigen3 result{};
    int order[3] = {0, 1, 2};
    for (int step = 0; step < 3; ++step) {
      const int i = step % 2;
      if (a[order[i]][order[i]] >= a[order[i + 1]][order[i + 1]]) continue;
      const int before = order[i];
      order[i] = order[i + 1];
      order[i + 1] = before;
    }
    for (int k = 0; k < 3; ++k) {
      result.values[k] = a[order[k]][order[k]] > 0 ? a[order[k]][order[k]] : 0;
      for (int i = 0; i < 3; ++i) result.vectors[k][i] = v[i][order[k]];
    }
    return result;
  }

 private:
  /// Makes a[p][q] zero.
  TENSOA_HOST_DEVICE static void rotate(double (&a)[3][3], double (&v)[3][3], int p, int q) {
    if (a[p][q] == 0) return;
    const double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
    const double root = std::abs(theta) + std::sqrt(theta * theta + 1);
    const double t = theta < 0 ? -1 / root : 1 / root;
    const double c = 1 / std::sqrt(t * t + 1);
    const double s = t * c;
    const int r = 3 - p - q;
    a[p][p] -= t * a[p][q];
    a[q][q] += t * a[p][q];
    a[p][q] = a[q][p] = 0;
    const double before = a[r][p];
    a[r][p] = a[p][r] = c * before - s * a[r][q];
    a[r][q] = a[q][r] = s * before + c * a[r][q];
    for (int i = 0; i < 3; ++i) {
      const double other = v[i][p];
      v[i][p] = c * other - s * v[i][q];
      v[i][q] = s * other + c * v[i][q];
    }
  }
};

/// The features of rows that are not fragments.
struct ClearNodes {
  View<Node> nodes;
  std::size_t first;  ///< such row

  TENSOA_HOST_DEVICE void operator()(std::size_t row) const {
    const std::size_t i = first + row;
    nodes.x[i] = nodes.y[i] = nodes.z[i] = nodes.eta[i] = nodes.phi[i] = 0;
    nodes.axis_x[i] = nodes.axis_y[i] = nodes.axis_z[i] = 0;
    nodes.variance_1[i] = nodes.variance_2[i] = nodes.variance_3[i] = 0;
    nodes.sigma_1[i] = nodes.sigma_2[i] = nodes.sigma_3[i] = 0;
    nodes.clusters[i] = nodes.cells[i] = nodes.energy[i] = nodes.em_energy[i] = 0;
    nodes.first_layer[i] = nodes.last_layer[i] = nodes.peak_layer[i] = nodes.peak_part[i] = 0;
    nodes.core_part[i] = nodes.mean_radius[i] = nodes.z_min[i] = nodes.z_max[i] = 0;
    nodes.cluster_density[i] = nodes.fragment_density[i] = nodes.time[i] = 0;
  }
};

/// Results of the kernels for the graph of an event as a whole.
struct LinkStatus {
  double nearest =
      std::numeric_limits<double>::infinity();  ///< mm, smallest |z| of a cluster on a fragment
  std::int64_t edges = 0;

  /// Edges in that many rows: all, or none where they are too many.
  TENSOA_HOST_DEVICE std::size_t edges_in(std::size_t rows) const {
    const auto n = static_cast<std::size_t>(edges);
    return n <= rows ? n : 0;
  }
};

/// Fills the features of a node but fragment_density. A warp for each fragment: the largest of an event have the
/// clusters of hundreds of others.
struct FillNodes {
  View<Cluster> clusters;
  View<Fragment> fragments;  ///< first and last are read
  View<Node> nodes;
  LinkStatus* status;

  template <class Team>
  TENSOA_HOST_DEVICE void operator()(const Team& team, std::size_t row) const {
    const auto first = static_cast<std::size_t>(fragments.first[row]);
    const std::size_t n = static_cast<std::size_t>(fragments.last[row]) - first;
    Sums sums{clusters, first};
    fill_extremes(team, row, n, sums);
    fill_energies(team, row, n, sums);
    fill_place(team, row, n, sums);
    fill_shape(team, row, n, sums);
  }

 private:
  /// Of the clusters of a fragment.
  struct Sums {
    const View<Cluster>& clusters;
    std::size_t first;
    std::size_t peak = 0;  ///< the first of those of most energy
    double weights = 0;    ///< the energy; without energy all clusters count the same
    bool has_energy = false;
    double at[3] = {0, 0, 0};  ///< barycentre
    double length = 0;         ///< to it

    /// Part of the energy.
    TENSOA_HOST_DEVICE double weight(std::size_t i) const {
      return (has_energy ? static_cast<double>(clusters.energy[first + i]) : 1.0) / weights;
    }
    TENSOA_HOST_DEVICE double x(std::size_t i) const { return clusters.x[first + i]; }
    TENSOA_HOST_DEVICE double y(std::size_t i) const { return clusters.y[first + i]; }
    TENSOA_HOST_DEVICE double z(std::size_t i) const { return clusters.z[first + i]; }
  };

  TENSOA_HOST_DEVICE static double length_of(double x, double y, double z) {
    return std::sqrt(x * x + y * y + z * z);
  }

  /// Bits that ascend with a number that is not negative.
  TENSOA_HOST_DEVICE static std::uint32_t ascending(float value) {
    return std::bit_cast<std::uint32_t>(value + 0.0F);
  }

  template <class Team>
  TENSOA_HOST_DEVICE void fill_extremes(const Team& team, std::size_t row, std::size_t n,
                                        Sums& sums) const {
    constexpr std::uint32_t kAll = 0xffffffffU;
    const std::size_t first = sums.first;
    std::uint64_t peak[1] = {0};
    team.most(n, peak, [&](std::size_t i, std::uint64_t(&to)[1]) {
      const std::uint64_t key = std::uint64_t{ascending(clusters.energy[first + i])} << 32U |
                                (kAll - static_cast<std::uint32_t>(i));
      if (key > to[0]) to[0] = key;
    });
    std::uint32_t most[4] = {0, 0, 0, 0};  // what is to be smallest, subtracted
    team.most(n, most, [&](std::size_t i, std::uint32_t(&to)[4]) {
      const auto layer = static_cast<std::uint32_t>(clusters.layer[first + i]);
      const std::uint32_t depth = ascending(std::abs(clusters.z[first + i]));
      const std::uint32_t keys[4] = {layer, kAll - layer, depth, kAll - depth};
      for (int k = 0; k < 4; ++k) {
        if (keys[k] > to[k]) to[k] = keys[k];
      }
    });
    sums.peak = kAll - static_cast<std::uint32_t>(peak[0] & kAll);
    if (team.lane() > 0) return;
    const auto nearest = static_cast<std::int32_t>(kAll - most[1]);
    const auto farthest = static_cast<std::int32_t>(most[0]);
    nodes.peak_layer[row] = static_cast<float>(clusters.layer[first + sums.peak]);
    nodes.first_layer[row] = static_cast<float>(nearest);
    nodes.last_layer[row] = static_cast<float>(farthest);
    nodes.clusters[row] = static_cast<float>(n);
    nodes.cluster_density[row] =
        static_cast<float>(static_cast<double>(n) / (1.0 + farthest - nearest));
    nodes.z_min[row] = std::bit_cast<float>(kAll - most[3]);
    nodes.z_max[row] = std::bit_cast<float>(most[2]);
    events::atomic::lower(status->nearest, static_cast<double>(nodes.z_min[row]));
  }

  template <class Team>
  TENSOA_HOST_DEVICE void fill_energies(const Team& team, std::size_t row, std::size_t n,
                                        Sums& sums) const {
    double all[3];
    team.sum(n, all, [&](std::size_t i, double(&to)[3]) {
      const std::size_t cluster = sums.first + i;
      to[0] += clusters.energy[cluster];
      if (clusters.layer[cluster] <= kEmLayers) to[1] += clusters.energy[cluster];
      to[2] += clusters.cells[cluster];
    });
    sums.has_energy = all[0] > 0;
    sums.weights = sums.has_energy ? all[0] : static_cast<double>(n);
    if (team.lane() > 0) return;
    nodes.energy[row] = static_cast<float>(all[0]);
    nodes.em_energy[row] = static_cast<float>(all[1]);
    nodes.cells[row] = static_cast<float>(all[2]);
    nodes.peak_part[row] = static_cast<float>(sums.weight(sums.peak));
  }

  template <class Team>
  TENSOA_HOST_DEVICE void fill_place(const Team& team, std::size_t row, std::size_t n,
                                     Sums& sums) const {
    double all[5];
    team.sum(n, all, [&](std::size_t i, double(&to)[5]) {
      const double w = sums.weight(i);
      to[0] += w * sums.x(i);
      to[1] += w * sums.y(i);
      to[2] += w * sums.z(i);
      const float time = clusters.time[sums.first + i];
      if (time == kNoTime) return;
      to[3] += w * time;
      to[4] += w;
    });
    const double(&at)[5] = all;
    for (int k = 0; k < 3; ++k) sums.at[k] = at[k];
    sums.length = length_of(at[0], at[1], at[2]);
    if (team.lane() > 0) return;
    constexpr double kSmallestRadius = 1e-3;  // mm; on the beam line there is no finite eta
    const double r = std::sqrt(at[0] * at[0] + at[1] * at[1]);
    nodes.x[row] = static_cast<float>(at[0]);
    nodes.y[row] = static_cast<float>(at[1]);
    nodes.z[row] = static_cast<float>(at[2]);
    nodes.eta[row] = static_cast<float>(
        events::inverse_sinh(at[2] / (r > kSmallestRadius ? r : kSmallestRadius)));
    nodes.phi[row] = static_cast<float>(events::angle_of(at[1], at[0]));
    nodes.time[row] = all[4] > 0 ? static_cast<float>(all[3] / all[4]) : kNoTime;
  }

  template <class Team>
  TENSOA_HOST_DEVICE void fill_shape(const Team& team, std::size_t row, std::size_t n,
                                     const Sums& sums) const {
    const double(&at)[3] = sums.at;
    double all[8];  // six moments, the energy near to the line, the distance from it
    team.sum(n, all, [&](std::size_t i, double(&to)[8]) {
      const double w = sums.weight(i);
      const double p[3] = {sums.x(i), sums.y(i), sums.z(i)};
      const double d[3] = {p[0] - at[0], p[1] - at[1], p[2] - at[2]};
      to[0] += w * (d[0] * d[0]);
      to[1] += w * (d[0] * d[1]);
      to[2] += w * (d[0] * d[2]);
      to[3] += w * (d[1] * d[1]);
      to[4] += w * (d[1] * d[2]);
      to[5] += w * (d[2] * d[2]);
      const double along = (p[0] * at[0] + p[1] * at[1] + p[2] * at[2]) / sums.length;
      const double distance =
          length_of(p[0] - along * (at[0] / sums.length), p[1] - along * (at[1] / sums.length),
                    p[2] - along * (at[2] / sums.length));
      if (distance < 20) to[6] += w;
      to[7] += w * distance;
    });
    const double moments[6] = {all[0], all[1], all[2], all[3], all[4], all[5]};
    Eigen3 shape = Eigen3::of(moments);  // by all lanes: none has anything else to do
    if (n == 1) {                        // one point has no axes: the line from the origin
      for (int k = 0; k < 3; ++k) shape.vectors[0][k] = at[k] / sums.length;
    }
    double spread[3];
    team.sum(n, spread, [&](std::size_t i, double(&to)[3]) {
      for (int k = 0; k < 3; ++k) {
        const double* const v = shape.vectors[k];
        const double along =
            v[0] * (sums.x(i) - at[0]) + v[1] * (sums.y(i) - at[1]) + v[2] * (sums.z(i) - at[2]);
        to[k] += along * along;
      }
    });
    if (team.lane() > 0) return;
    nodes.core_part[row] = static_cast<float>(all[6]);
    nodes.mean_radius[row] = static_cast<float>(all[7]);
    const double* const axis = shape.vectors[0];
    const bool is_away = axis[0] * at[0] + axis[1] * at[1] + axis[2] * at[2] >= 0;
    const double sign = is_away ? 1 : -1;
    nodes.axis_x[row] = static_cast<float>(sign * axis[0]);
    nodes.axis_y[row] = static_cast<float>(sign * axis[1]);
    nodes.axis_z[row] = static_cast<float>(sign * axis[2]);
    nodes.variance_1[row] = static_cast<float>(shape.values[0]);
    nodes.variance_2[row] = static_cast<float>(shape.values[1]);
    nodes.variance_3[row] = static_cast<float>(shape.values[2]);
    const auto clusters_here = static_cast<double>(n);
    nodes.sigma_1[row] = static_cast<float>(std::sqrt(spread[0] / clusters_here));
    nodes.sigma_2[row] = static_cast<float>(std::sqrt(spread[1] / clusters_here));
    nodes.sigma_3[row] = static_cast<float>(std::sqrt(spread[2] / clusters_here));
  }
};

}  // namespace tensoa::merge
