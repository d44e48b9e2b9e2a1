// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tensoa::track {

/// One point of the trade-off between finding true edges and letting false ones through.
struct CutPoint {
  double cut;         ///< edges with score >= cut are kept
  double efficiency;  ///< kept true edges / true edges
  double false_rate;  ///< kept false edges / false edges
  double purity;      ///< kept true edges / kept edges; NaN where nothing is kept
};

/// Counts of edge scores in 1000 equal bins of [0, 1], apart for true, false and unlabelled edges.
///
/// Its size does not depend on the number of edges, so one event after another can be added, or
/// histograms of several threads merged at the end.
/// *Threads*: like a standard container.
class ScoreHistogram {
 public:
  static constexpr std::size_t kBins = 1000;
  using Counts = std::array<std::uint64_t, kBins>;

  /// Adds the edges of one event that has truth.
  /// @param scores [n_edges]; below 0 or NaN count in the first bin, above 1 in the last
  /// @param truth [n_edges]; not 0 = true edge
  /// @throws ConfigError if the lengths differ
  void add(std::span<const float> scores, std::span<const std::uint8_t> truth);

  /// Adds the edges of one event without truth.
  void add(std::span<const float> scores);

  /// Adds the counts of another histogram.
  void merge(const ScoreHistogram& other);

  [[nodiscard]] const Counts& true_counts() const { return true_; }
  [[nodiscard]] const Counts& false_counts() const { return false_; }
  [[nodiscard]] const Counts& unlabelled_counts() const { return unlabelled_; }

  /// The ROC curve and the purity at the cuts 0, 0.001, ..., 1; the last one keeps nothing.
  /// @return kBins + 1 points by rising cut; empty without both true and false edges
  [[nodiscard]] std::vector<CutPoint> cut_points() const;

 private:
  Counts true_{};
  Counts false_{};
  Counts unlabelled_{};
};

}  // namespace tensoa::track
