// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tensoa/track/track_counts.hpp"

namespace tensoa::tools {

/// "tracks_against_truth" of `tensoa track --json`:
///
/// - `definitions`: what the other members mean, as sentences; the page shows them
/// - `events`, `events_with_particles`, `events_with_edges`: with truth; of these, those whose particle
///   table, and whose candidate edges are known
/// - `tracks`, `fakes`, `duplicates`, `fake_rate`, `duplicate_rate`
/// - `all`, `primary`: for each of track::kCategories its cuts `min_hits` and `min_pt` (GeV), and
///   `particles`, `found`, `efficiency` and the ends of its error `efficiency_low` and
///   `efficiency_high`, `with_edges`, `findable`, `findable_found`, `ceiling`, `technical_efficiency`
/// - `against_pt` (GeV), `against_eta`: `edges` [bins + 1], the same members but for the cuts as lists
///   [bins], and `outside`, an object with the particles that are in no bin
/// - `unlisted`: particles with at least 3 hits that the particle table of their event lacks
/// - `notes`: sentences on what is null, and on what does not count
///
/// Unknown values are null: `primary`, categories with a cut on pT and the bins without a particle
/// table; from `with_edges` on without candidate edges; a ratio without a denominator.
nlohmann::json to_json(const track::TrackCounts& counts);

/// The sentences of `notes`.
std::vector<std::string> notes_of(const track::TrackCounts& counts);

/// The same figures in a few lines, for people.
std::string to_lines(const track::TrackCounts& counts);

}  // namespace tensoa::tools
