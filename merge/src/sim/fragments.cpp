// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "sim/fragments.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <numeric>

namespace tensoa::merge {
namespace {

constexpr int kLayers = 47;
constexpr int kLayersAround = 3;        // that count for the density
constexpr int kLayersToFollow = 5;      // in which a cluster looks for one of higher density
constexpr double kDensityRadius = 18;   // mm
constexpr double kFollowRadius = 36;    // mm
constexpr double kLayerLength = 6;      // mm of distance that a layer counts
constexpr double kLeastDensity = 0.12;  // GeV of a cluster that begins a fragment
constexpr double kCell = 60;            // mm, of the grid; at least both radii
constexpr double kFront = 3220;         // mm, where transverse distances are taken

// A cluster where the line to it from the origin crosses the front of the calorimeter.
struct Point {
  double u, v;   // mm there
  double scale;  // mm here per mm there
  double energy;
  int layer, endcap;
};

// Points by endcap, layer and square of the front.
class Grid {
 public:
  explicit Grid(const std::vector<Point>& points)
      : points_(points),
        firsts_(2 * std::size_t{kLayers} * kCells * kCells + 1, 0),
        rows_(points.size()) {
    const auto own = [&](std::size_t i) { return square(points[i], points[i].layer, 0, 0); };
    for (std::size_t i = 0; i < points.size(); ++i) ++firsts_[own(i)];
    std::partial_sum(firsts_.begin(), firsts_.end(), firsts_.begin());
    for (std::size_t i = points.size(); i-- > 0;) {
      rows_[static_cast<std::size_t>(--firsts_[own(i)])] = static_cast<std::int32_t>(i);
    }
  }

  /// Calls found(j, squared distance in mm) for those within a radius and some layers, itself too.
  template <class Found>
  void around(const Point& point, double radius, int layers, const Found& found) const {
    const int last = std::min(point.layer + layers, kLayers);
    for (int layer = std::max(point.layer - layers, 1); layer <= last; ++layer) {
      for (int u = -1; u <= 1; ++u) {
        const std::size_t first = square(point, layer, u, -1);
        const auto end = static_cast<std::size_t>(firsts_[square(point, layer, u, 1) + 1]);
        for (auto at = static_cast<std::size_t>(firsts_[first]); at < end; ++at) {
          const auto j = static_cast<std::size_t>(rows_[at]);
          const double du = (points_[j].u - point.u) * point.scale;
          const double dv = (points_[j].v - point.v) * point.scale;
          const double distance = du * du + dv * dv;
          if (distance <= radius * radius) found(j, distance);
        }
      }
    }
  }

 private:
  static constexpr std::size_t kCells = 96;  // a side; they reach beyond the calorimeter

  static std::size_t square(const Point& point, int layer, int du, int dv) {
    const std::size_t plane =
        static_cast<std::size_t>(layer - 1) + (point.endcap > 0 ? std::size_t{kLayers} : 0);
    return (plane * kCells + cell(point.u, du)) * kCells + cell(point.v, dv);
  }
  static std::size_t cell(double length, int step) {
    const int at = static_cast<int>(length / kCell + kCells / 2.0) + step;
    return static_cast<std::size_t>(std::clamp(at, 0, static_cast<int>(kCells) - 1));
  }

  const std::vector<Point>& points_;
  std::vector<std::int32_t> firsts_;  // in rows_, of each square
  std::vector<std::int32_t> rows_;
};

}  // namespace

void find_fragments(std::vector<MadeCluster>& clusters) {
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::vector<Point> points;
  points.reserve(clusters.size());
  for (const MadeCluster& cluster : clusters) {
    const double scale = static_cast<double>(std::abs(cluster.z)) / 1e3 / kFront;
    points.push_back({.u = static_cast<double>(cluster.x) / 1e3 / scale,
                      .v = static_cast<double>(cluster.y) / 1e3 / scale,
                      .scale = scale,
                      .energy = static_cast<double>(cluster.energy) / 1e6,
                      .layer = cluster.layer,
                      .endcap = cluster.z < 0 ? -1 : 1});
  }
  const Grid grid(points);
  std::vector<double> densities(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    grid.around(points[i], kDensityRadius, kLayersAround, [&](std::size_t j, double) {
      densities[i] += (j == i ? 1.0 : 0.5) * points[j].energy;
    });
  }
  const auto is_denser = [&](std::size_t j, std::size_t i) {
    return densities[j] != densities[i] ? densities[j] > densities[i] : j < i;
  };
  std::vector<std::size_t> followed(points.size(), kNone);
  std::vector<std::size_t> order(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    order[i] = i;
    double best = std::numeric_limits<double>::max();
    grid.around(points[i], kFollowRadius, kLayersToFollow, [&](std::size_t j, double distance) {
      const double layers = kLayerLength * (points[j].layer - points[i].layer);
      const double total = distance + layers * layers;
      if (!is_denser(j, i) || !(total < best)) return;
      best = total;
      followed[i] = j;
    });
  }
  // Each after the one that it follows.
  std::sort(order.begin(), order.end(), is_denser);
  for (const std::size_t i : order) {
    if (followed[i] != kNone) {
      clusters[i].fragment_id = clusters[followed[i]].fragment_id;
    } else if (densities[i] >= kLeastDensity) {
      clusters[i].fragment_id = static_cast<std::int64_t>(i);
    }
  }
  std::int64_t fragments = 0;
  std::vector<std::int64_t> numbers(points.size(), -1);
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (clusters[i].fragment_id == static_cast<std::int64_t>(i)) numbers[i] = fragments++;
  }
  for (MadeCluster& cluster : clusters) {
    if (cluster.fragment_id >= 0) {
      cluster.fragment_id = numbers[static_cast<std::size_t>(cluster.fragment_id)];
    }
  }
}

}  // namespace tensoa::merge
