// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "tensoa/track/event.hpp"

namespace tensoa::track {

/// Bytes of text, unpacked, that a file of one event may have: some three million hits.
inline constexpr std::int64_t kMostTextOfEvent = std::int64_t{256} << 20U;

/// Reads one event.
///
/// Two kinds of CSV files, plain or gzip:
/// - TrackML: a header line with at least hit_id, x, y, z (mm), volume_id and layer_id in any
/// order. Beside
///   NAME-hits.csv[.gz], NAME-truth.csv[.gz] (hit_id, particle_id) and NAME-particles.csv[.gz]
///   (particle_id, vx, vy, vz, px, py, pz, q) are read when they are there.
/// - large-radius tracking: no header, three columns r / 1000 mm, phi / pi, z / 1000 mm. No layers
/// and no
///   truth; hit_id is the row.
///
/// A TrackML file with only a header is an event without hits. Node features and track_id are not
/// filled.
///
/// @throws InputError, one line with the file, what was got and what was expected: a file that is
/// missing,
///         empty, truncated or not CSV; wrong columns; fields that are no numbers; coordinates that
///         are NaN or infinite (with the row, counted from 1); a hit_id that comes twice; truth
///         that does not cover the hits; more text than kMostTextOfEvent.
/// @throws std::bad_alloc where there is no memory for it
/// *Threads*: any; starts none.
Event read_event(const std::filesystem::path& path);

/// True when the name of a file says that it holds the hits of an event: *.csv or *.csv.gz, but not
/// the cells, truth or particles beside it, nor TrackML's description of the detectors.
bool is_event_file(const std::filesystem::path& path);

/// The event's name: the file's, without its folder, "-hits" and ".csv[.gz]".
std::string event_name(const std::filesystem::path& path);

}  // namespace tensoa::track
