// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensoa/events/event_source.hpp"
#include "tensoa/track/event.hpp"
#include "tensoa/track/generator.hpp"

namespace tensoa::track {

/// Bytes of text, unpacked, that a file of one event may have: some three million hits.
inline constexpr std::size_t kMostTextOfEvent = std::size_t{256} << 20U;

/// Reads the event of a file: CSV, plain or gzip, of one of two kinds, or a table with one event.
///
/// - TrackML: a header line with at least hit_id, x, y, z (mm), volume_id and layer_id, in any
///   order. NAME-truth.csv[.gz] (hit_id, particle_id) and NAME-particles.csv[.gz] (particle_id, vx,
///   vy, vz, px, py, pz, q) next to NAME-hits.csv[.gz] are read when they are there. A file with only
///   a header is an event without hits.
/// - large-radius tracking: no header, three columns r / 1000 mm, phi / pi, z / 1000 mm. No layers
///   and no truth; hit_id is the row.
/// - .parquet, .arrow, .ipc or .feather (Arrow's file and stream formats): columns x, y, z (mm), and
///   where they are there hit_id (else the row in the event), layer or both volume_id and layer_id,
///   and particle_id, with which the event has truth. Numbers of any type that fits. A row is a hit;
///   neighbours with one number in the column event_id (or event) are an event, and without that column
///   the file is one. Or a row is an event and its columns are lists, as in ColliderML.
///
/// Fills x, y, z, layer, hit_id and particle_id (0 without truth) of the hits, and track_id with -1.
/// The node features (r_scaled, phi_scaled, z_scaled) are left as they are.
///
/// @throws InputError, one line with the file, what was got and what was expected: a file that is
/// missing, empty, truncated or not of its kind; a table with several events; wrong columns; fields that are not numbers; coordinates that
/// are NaN or infinite (with the row, counted from 1); a duplicate hit_id; truth that does not cover
/// the hits; more text than kMostTextOfEvent.
/// @throws std::bad_alloc where there is no memory for it
/// *Threads*: any; starts none.
Event read_event(const std::filesystem::path& path);

/// Where one event comes from: a file, an event of a table, or the generator. Cheap to copy; no hits are
/// read before read().
class EventSource : public events::SourceOf<Event> {
 public:
  using SourceOf::SourceOf;

  /// @param file of one event
  explicit EventSource(std::filesystem::path file);
  EventSource(const GeneratorOptions& options, std::uint64_t index);
};

/// The events of an input, in the order in which they are processed.
///
/// @param input one file (see read_event()), of which a table may have any number of events, NAME_EVENT; a folder, then all its events in natural order (evt_2
/// before evt_10), subfolders left out; or "generate:EVENTS[:SEED[:PARTICLES]]". A missing path
/// counts as a file: its read() throws, and the other events of a batch are not affected; a table that cannot be used, too. A part of a
/// table whose numbers of events cannot be read is an event whose read() throws, and so are the events
/// before and after it, because they may have rows there.
/// @throws InputError when a folder cannot be listed or holds no events; ConfigError for a
/// "generate:" that is not as above.
std::vector<EventSource> find_events(std::string_view input);

/// The events of several inputs, one after the other.
/// Events have different names: those of files that are called alike in different folders begin with
/// the folders that make them different, "run1_evt_5" and "run2_evt_5".
/// @throws InputError as above, and for two events of one name, with the origin of both, where folders
/// do not help
std::vector<EventSource> find_events(std::span<const std::string> inputs);

}  // namespace tensoa::track
