// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

/// @file
/// How many particles of a kind are found: counts, their ratios, and the error of a ratio. All counts
/// add up over events with +=; a ratio without a denominator is std::nullopt.

namespace tensoa::track {

struct Interval {
  double low;
  double high;
};

/// Returns the interval of a probability of which `part` of `whole` trials are known: the score
/// interval of Wilson at one standard deviation (68.27 %).
///
/// It lies in [0, 1], and has a width where none or all trials succeed. E. B. Wilson, J. Am. Stat.
/// Assoc. 22 (1927) 209; recommended for few trials by Brown, Cai and DasGupta, Stat. Sci. 16 (2001)
/// 101.
/// @param part at most `whole`
std::optional<Interval> binomial_interval(std::size_t part, std::size_t whole);

/// Particles of one kind. What "found" and "findable" mean: track_counts.hpp.
struct ParticleCounts {
  std::size_t particles = 0;
  std::size_t found = 0;       ///< of these, found
  std::size_t with_edges = 0;  ///< of `particles`, those of events whose candidate edges are known
  std::size_t findable = 0;    ///< of `with_edges`, findable
  std::size_t findable_found = 0;  ///< of `findable`, found

  /// found / particles.
  std::optional<double> efficiency() const;
  /// Of the efficiency.
  std::optional<Interval> interval() const { return binomial_interval(found, particles); }
  /// findable / with_edges: the efficiency of a perfect network and nothing else.
  std::optional<double> ceiling() const;
  /// findable_found / findable.
  std::optional<double> technical_efficiency() const;

  ParticleCounts& operator+=(const ParticleCounts& other);
};

/// Particles in bins of one quantity.
class EfficiencyBins {
 public:
  /// @param edges ascending, at least two. @throws ConfigError otherwise
  explicit EfficiencyBins(std::vector<double> edges);

  /// Adds to the bin with edges[i] <= value < edges[i + 1]; to outside() where none has the value,
  /// as none has NaN.
  void add(double value, const ParticleCounts& counts);

  /// @throws ConfigError unless both have the same edges
  EfficiencyBins& operator+=(const EfficiencyBins& other);

  /// [bins + 1]
  const std::vector<double>& edges() const noexcept { return edges_; }
  /// [bins]
  const std::vector<ParticleCounts>& bins() const noexcept { return bins_; }
  const ParticleCounts& outside() const noexcept { return outside_; }

 private:
  std::vector<double> edges_;
  std::vector<ParticleCounts> bins_;
  ParticleCounts outside_;
};

}  // namespace tensoa::track
