// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "tensoa/merge/event.hpp"

/// @file
/// Merged particles against the truth. All figures add up over events with +=; a ratio without a denominator is std::nullopt.

namespace tensoa::merge {

/// The smallest energy of a shower that counts, GeV: the sum of all clusters of one particle_id.
inline constexpr double kLeastShower = 10;

/// The smallest part of the energy of its shower that a fragment must have to count.
inline constexpr double kLeastPart = 0.05;

/// Showers of at least kLeastShower, and their fragments of at least kLeastPart of the shower's energy. A fragment is of the particle
/// that has most of its energy (Fragment::particle_id).
///
/// A shower's merged particle is the one with most of the shower's energy. The shower is found when it
/// in turn has most of that merged particle's energy, and a fragment is joined rightly when its shower is found and it is in that
/// merged particle.
struct MergeCounts {
  /// E of the merged particle / E of the shower, in bins of 0.01 from 0 to 2; what lies beyond, in the last one.
  static constexpr std::size_t kBins = 201;

  std::size_t showers = 0;
  std::size_t found = 0;
  std::size_t fragments = 0;  ///< that count
  std::size_t joined = 0;     ///< of these, joined rightly
  std::size_t merged = 0;     ///< particles in the answer, all of them
  double pure_energy =
      0;  ///< GeV of the showers in their merged particles, of showers that are found
  double merged_energy = 0;                      ///< GeV of those merged particles
  std::array<std::uint64_t, kBins> responses{};  ///< of showers that are found

  /// joined / fragments.
  std::optional<double> efficiency() const;
  /// found / showers.
  std::optional<double> shower_efficiency() const;
  /// pure_energy / merged_energy.
  std::optional<double> purity() const;
  /// Median of the responses.
  std::optional<double> response() const { return quantile(0.5); }
  /// Half the width of the central 68 % of the responses, divided by their median.
  std::optional<double> resolution() const;

  MergeCounts& operator+=(const MergeCounts& other);

 private:
  std::optional<double> quantile(double part) const;
};

/// Counts the merged particles of an event with truth: energy and particle_id of the clusters, merged_id of the fragments are read.
MergeCounts count_merged(const Event& event);

}  // namespace tensoa::merge
