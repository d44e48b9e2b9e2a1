// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "tensoa/track/efficiency.hpp"
#include "tensoa/track/event.hpp"

/// @file
/// How good tracks are, where there is truth.
///
/// *Found*: a particle is found when one track has more than half of the particle's hits, and more than
/// half of the track's hits are the particle's (double majority).
///
/// *Matched*, *fake*, *duplicate*: a track is matched when more than half of its hits are of one
/// particle; else it is fake. Of the matched tracks of one particle all but one are duplicates.
///
/// *Primary*: a particle with charge that is produced at most kPrimaryRadius from the beam line, in the
/// transverse plane.
///
/// *Findable*: a particle that is found where the true candidate edges, and no others, are selected:
/// a connected group of at least kMinHits of its hits that has more than half of them. It depends on the
/// candidate graph alone, and is the most that its cuts leave to a network.
///
/// *Denominators*: particles with at least kMinHits hits, all or primary ones, in the categories of
/// kCategories. Tracks: all tracks of events with truth.

namespace tensoa::track {

/// Particles with fewer hits do not count, and groups of fewer hits are not tracks.
inline constexpr std::size_t kMinHits = 3;

/// mm; see "primary" above.
inline constexpr double kPrimaryRadius = 2.0;

/// Particles that count together.
struct Category {
  std::string_view name;
  std::size_t min_hits;
  double min_pt;  ///< GeV, transverse momentum at the production point; 0: any, also unknown
};
inline constexpr std::array<Category, 4> kCategories{{{"min_hits_3", kMinHits, 0},
                                                      {"min_hits_5", 5, 0},
                                                      {"min_pt_0_5_gev", kMinHits, 0.5},
                                                      {"min_pt_1_gev", kMinHits, 1}}};

/// In the order of kCategories.
using CategoryCounts = std::array<ParticleCounts, kCategories.size()>;

/// 20 bins of transverse momentum from 0.1 to 10 GeV, each 10^0.1 times as wide as the one before.
EfficiencyBins pt_bins();

/// 16 equal bins of pseudorapidity from -4 to 4.
EfficiencyBins eta_bins();

/// Tracks of events with truth, against their particles.
struct TrackCounts {
  std::size_t events = 0;
  std::size_t events_with_particles = 0;  ///< whose particle table is known
  std::size_t events_with_edges = 0;      ///< whose candidate edges are known
  std::size_t tracks = 0;
  std::size_t fakes = 0;
  std::size_t duplicates = 0;
  CategoryCounts all{};  ///< those with a cut on pT: of events with a particle table
  /// Of events with a particle table, as the bins.
  CategoryCounts primary{};
  EfficiencyBins against_pt = pt_bins();    ///< primary particles with at least kMinHits hits
  EfficiencyBins against_eta = eta_bins();  ///< the same
  /// Particles with at least kMinHits hits that the particle table of their event lacks: they count
  /// in `all` without a cut on pT, and nowhere else.
  std::size_t unlisted = 0;

  /// Of all particles with at least kMinHits hits.
  std::optional<double> efficiency() const { return all.front().efficiency(); }
  /// fakes / tracks.
  std::optional<double> fake_rate() const;
  /// duplicates / tracks.
  std::optional<double> duplicate_rate() const;

  TrackCounts& operator+=(const TrackCounts& other);
};

/// Counts the tracks of an event with truth.
/// @param hits track_id and particle_id are read
/// @param particles the particle table; empty where it is not known. Particles without hits do not
/// count.
/// @param edges all candidate edges, of which source, target and truth are read; std::nullopt where
/// they are not known
/// @throws InputError when an id is duplicated in the particle table, or an edge joins rows that are
/// not those of hits
TrackCounts count_tracks(ConstView<Hit> hits, ConstView<Particle> particles = {},
                         const std::optional<ConstView<Edge>>& edges = std::nullopt);

}  // namespace tensoa::track
