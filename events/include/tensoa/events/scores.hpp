// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tensoa/events/impl/arithmetic.hpp"
#include "tensoa/soa/portable_collection.hpp"

/// @file
/// How good the scores of edges are, where there is truth. All figures add up over events with +=; a
/// ratio without a denominator is std::nullopt.

namespace tensoa::events {

/// Edges at a cut on the score.
struct EdgeCounts {
  std::size_t edges = 0;
  std::size_t true_edges = 0;
  std::size_t selected = 0;       ///< score at least the cut
  std::size_t true_selected = 0;  ///< of these, true

  /// True edges that are selected, of all true ones (recall).
  std::optional<double> efficiency() const;
  /// Selected edges that are true, of all selected (precision).
  std::optional<double> purity() const;

  EdgeCounts& operator+=(const EdgeCounts& other);
};

/// The area under the ROC curve of the edge scores: the probability that a true edge has a higher
/// score than a false one, ties counted as one half.
///
/// Counts the scores in bins, so that its size does not depend on the number of edges. Networks put
/// most scores close to 0 and 1: a bin is at most 1/64 as wide as its distance from the nearer of both,
/// and what is nearer than 2^-24 is one bin. Scores of one bin count as ties.
class EdgeAuc {
 public:
  static constexpr std::size_t kBins = 2 * (1 + 64 * 23) + 1;  ///< one of 1/2 alone in the middle
  /// Of false edges, then of true ones.
  using Counts = std::array<std::uint32_t, 2 * kBins>;

  /// @param score below 0: the first bin; above 1: the last
  TENSOA_HOST_DEVICE static std::size_t bin_of(float score) {
    if (score < 0.5F) return steps_from_zero(score);
    return kBins - 1 - steps_from_zero(1 - score);
  }

  /// Adds the edges of an event, with the columns score and truth. @throws EngineError when a score is NaN; nothing
  /// is added then.
  template <template <template <class> class> class Layout>
  void add(ConstView<Layout> edges) {
    add(std::span(edges.score.data(), edges.size()), std::span(edges.truth.data(), edges.size()));
  }
  void add(std::span<const float> scores, std::span<const std::uint8_t> truth);
  /// Adds the counts of an event.
  void add(const Counts& counts);

  EdgeAuc& operator+=(const EdgeAuc& other);

  /// The area over all edges added; std::nullopt unless there are both true and false ones.
  std::optional<double> value() const;

 private:
  /// By the bits of a float, which ascend with it: 64 bins for each power of two from 2^-24 to 1/2.
  TENSOA_HOST_DEVICE static std::size_t steps_from_zero(float distance) {
    constexpr float kLeast = 0x1p-24F;
    if (!(distance >= kLeast)) return 0;
    return 1 + ((std::bit_cast<std::uint32_t>(distance) - std::bit_cast<std::uint32_t>(kLeast)) >>
                (23U - 6U));
  }

  template <class Numbers>
  void add_counts(const Numbers& counts);

  std::vector<std::uint64_t> counts_;  ///< in the order of Counts; empty before the first edge
};

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

}  // namespace tensoa::events
