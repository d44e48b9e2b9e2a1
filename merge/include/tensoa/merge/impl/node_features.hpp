// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "tensoa/events/impl/arithmetic.hpp"
#include "tensoa/merge/event.hpp"

/// @file
/// The node features of fragments as a kernel: one row a fragment, the same bits on CPU and GPU
/// (events/impl/arithmetic.hpp).

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

/// Fills the features of a node but fragment_density.
struct FillNodes {
  View<Cluster> clusters;
  View<Fragment> fragments;  ///< first and last are read
  View<Node> nodes;

  TENSOA_HOST_DEVICE void operator()(std::size_t row) const {
    const auto first = static_cast<std::size_t>(fragments.first[row]);
    const auto last = static_cast<std::size_t>(fragments.last[row]);
    double energy = 0;
    for (std::size_t i = first; i < last; ++i) energy += clusters.energy[i];
    const Weights weights{clusters, energy > 0,
                          energy > 0 ? energy : static_cast<double>(last - first)};
    double at[3] = {0, 0, 0};
    for (std::size_t i = first; i < last; ++i) {
      const double w = weights.of(i);
      at[0] += w * clusters.x[i];
      at[1] += w * clusters.y[i];
      at[2] += w * clusters.z[i];
    }
    fill_place(row, at);
    fill_shape(row, first, last, weights, at);
    fill_sums(row, first, last, weights, at);
    nodes.energy[row] = static_cast<float>(energy);
  }

 private:
  /// Parts of the energy; without energy all clusters count the same.
  struct Weights {
    const View<Cluster>& clusters;
    bool has_energy;
    double sum;

    TENSOA_HOST_DEVICE double of(std::size_t i) const {
      return (has_energy ? static_cast<double>(clusters.energy[i]) : 1.0) / sum;
    }
  };

  TENSOA_HOST_DEVICE static double length_of(double x, double y, double z) {
    return std::sqrt(x * x + y * y + z * z);
  }

  TENSOA_HOST_DEVICE void fill_place(std::size_t row, const double (&at)[3]) const {
    constexpr double kSmallestRadius = 1e-3;  // mm; on the beam line there is no finite eta
    const double r = std::sqrt(at[0] * at[0] + at[1] * at[1]);
    nodes.x[row] = static_cast<float>(at[0]);
    nodes.y[row] = static_cast<float>(at[1]);
    nodes.z[row] = static_cast<float>(at[2]);
    nodes.eta[row] = static_cast<float>(
        events::inverse_sinh(at[2] / (r > kSmallestRadius ? r : kSmallestRadius)));
    nodes.phi[row] = static_cast<float>(events::angle_of(at[1], at[0]));
  }

  TENSOA_HOST_DEVICE void fill_shape(std::size_t row, std::size_t first, std::size_t last,
                                     const Weights& weights, const double (&at)[3]) const {
    double moments[6] = {0, 0, 0, 0, 0, 0};
    for (std::size_t i = first; i < last; ++i) {
      const double w = weights.of(i);
      const double d[3] = {clusters.x[i] - at[0], clusters.y[i] - at[1], clusters.z[i] - at[2]};
      moments[0] += w * (d[0] * d[0]);
      moments[1] += w * (d[0] * d[1]);
      moments[2] += w * (d[0] * d[2]);
      moments[3] += w * (d[1] * d[1]);
      moments[4] += w * (d[1] * d[2]);
      moments[5] += w * (d[2] * d[2]);
    }
    Eigen3 shape = Eigen3::of(moments);
    if (last - first == 1) {  // one point has no axes: the line from the origin
      const double length = length_of(at[0], at[1], at[2]);
      for (int k = 0; k < 3; ++k) shape.vectors[0][k] = at[k] / length;
    }
    double* const axis = shape.vectors[0];
    const bool is_away = axis[0] * at[0] + axis[1] * at[1] + axis[2] * at[2] >= 0;
    const double sign = is_away ? 1 : -1;
    nodes.axis_x[row] = static_cast<float>(sign * axis[0]);
    nodes.axis_y[row] = static_cast<float>(sign * axis[1]);
    nodes.axis_z[row] = static_cast<float>(sign * axis[2]);
    nodes.variance_1[row] = static_cast<float>(shape.values[0]);
    nodes.variance_2[row] = static_cast<float>(shape.values[1]);
    nodes.variance_3[row] = static_cast<float>(shape.values[2]);
    double spread[3] = {0, 0, 0};
    for (std::size_t i = first; i < last; ++i) {
      for (int k = 0; k < 3; ++k) {
        const double* const v = shape.vectors[k];
        const double along = v[0] * (clusters.x[i] - at[0]) + v[1] * (clusters.y[i] - at[1]) +
                             v[2] * (clusters.z[i] - at[2]);
        spread[k] += along * along;
      }
    }
    const auto n = static_cast<double>(last - first);
    nodes.sigma_1[row] = static_cast<float>(std::sqrt(spread[0] / n));
    nodes.sigma_2[row] = static_cast<float>(std::sqrt(spread[1] / n));
    nodes.sigma_3[row] = static_cast<float>(std::sqrt(spread[2] / n));
  }

  TENSOA_HOST_DEVICE void fill_sums(std::size_t row, std::size_t first, std::size_t last,
                                    const Weights& weights, const double (&at)[3]) const {
    const double length = length_of(at[0], at[1], at[2]);
    double em_energy = 0;
    double core = 0;
    double radius = 0;
    double time = 0;
    double timed = 0;
    double cells = 0;
    std::size_t peak = first;
    std::int32_t nearest = clusters.layer[first];
    std::int32_t farthest = nearest;
    float z_min = std::abs(clusters.z[first]);
    float z_max = z_min;
    for (std::size_t i = first; i < last; ++i) {
      const double w = weights.of(i);
      const double x = clusters.x[i];
      const double y = clusters.y[i];
      const double z = clusters.z[i];
      const double along = (x * at[0] + y * at[1] + z * at[2]) / length;
      const double distance = length_of(x - along * (at[0] / length), y - along * (at[1] / length),
                                        z - along * (at[2] / length));
      if (clusters.layer[i] <= kEmLayers) em_energy += clusters.energy[i];
      if (distance < 20) core += w;
      radius += w * distance;
      cells += clusters.cells[i];
      if (clusters.time[i] != kNoTime) {
        time += w * clusters.time[i];
        timed += w;
      }
      if (clusters.energy[i] > clusters.energy[peak]) peak = i;
      if (clusters.layer[i] < nearest) nearest = clusters.layer[i];
      if (clusters.layer[i] > farthest) farthest = clusters.layer[i];
      const float depth = std::abs(clusters.z[i]);
      if (depth < z_min) z_min = depth;
      if (depth > z_max) z_max = depth;
    }
    const auto n = static_cast<double>(last - first);
    nodes.clusters[row] = static_cast<float>(n);
    nodes.cells[row] = static_cast<float>(cells);
    nodes.em_energy[row] = static_cast<float>(em_energy);
    nodes.first_layer[row] = static_cast<float>(nearest);
    nodes.last_layer[row] = static_cast<float>(farthest);
    nodes.peak_layer[row] = static_cast<float>(clusters.layer[peak]);
    nodes.peak_part[row] = static_cast<float>(weights.of(peak));
    nodes.core_part[row] = static_cast<float>(core);
    nodes.mean_radius[row] = static_cast<float>(radius);
    nodes.z_min[row] = z_min;
    nodes.z_max[row] = z_max;
    nodes.cluster_density[row] = static_cast<float>(n / (1.0 + farthest - nearest));
    nodes.time[row] = timed > 0 ? static_cast<float>(time / timed) : kNoTime;
  }
};

}  // namespace tensoa::merge
