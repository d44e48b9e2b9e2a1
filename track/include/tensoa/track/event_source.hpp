// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tensoa/track/event.hpp"
#include "tensoa/track/generator.hpp"

namespace tensoa::track {

/// Bytes of text, unpacked, that a file of one event may have: some three million hits.
inline constexpr std::int64_t kMostTextOfEvent = std::int64_t{256} << 20U;

/// Reads one event from a CSV file, plain or gzip, of one of two kinds:
///
/// - TrackML: a header line with at least hit_id, x, y, z (mm), volume_id and layer_id, in any
///   order. NAME-truth.csv[.gz] (hit_id, particle_id) and NAME-particles.csv[.gz] (particle_id, vx,
///   vy, vz, px, py, pz, q) beside NAME-hits.csv[.gz] are read when they are there. A file with only
///   a header is an event without hits.
/// - large-radius tracking: no header, three columns r / 1000 mm, phi / pi, z / 1000 mm. No layers
///   and no truth; hit_id is the row.
///
/// Fills x, y, z, layer, hit_id and particle_id (0 without truth) of the hits, and track_id with -1.
/// The node features (r_scaled, phi_scaled, z_scaled) are left as they are.
///
/// @throws InputError, one line with the file, what was got and what was expected: a file that is
/// missing, empty, truncated or not CSV; wrong columns; fields that are no numbers; coordinates that
/// are NaN or infinite (with the row, counted from 1); a duplicate hit_id; truth that does not cover
/// the hits; more text than kMostTextOfEvent.
/// @throws std::bad_alloc where there is no memory for it
/// *Threads*: any; starts none.
Event read_event(const std::filesystem::path& path);

/// Where one event comes from: a file, or the generator. Cheap to copy; nothing is read before
/// read().
class EventSource {
 public:
  explicit EventSource(std::filesystem::path file) : from_(std::move(file)) {}
  EventSource(const GeneratorOptions& options, std::uint64_t index)
      : from_(Generated{options, index}) {}

  /// The event's name, as in Event::name: that of the file or of the generator, with the names of
  /// folders, or the number of particles, before it where find_events() needed them.
  std::string name() const;

  /// The file, or "generate:…:SEED:PARTICLES".
  std::string origin() const;

  /// Reads or makes the event. @throws InputError as read_event(). *Threads*: any.
  Event read() const;

 private:
  struct Generated {
    GeneratorOptions options;
    std::uint64_t index;
  };
  friend std::vector<EventSource> find_events(std::span<const std::string> inputs);

  std::variant<std::filesystem::path, Generated> from_;
  std::string prefix_;  ///< of the name, where another event has the same
};

/// The events of an input, in the order in which they are processed.
///
/// @param input one file (see read_event()); a folder, then all its events in natural order (evt_2
/// before evt_10), subfolders left out; or "generate:EVENTS[:SEED[:PARTICLES]]". A missing path
/// counts as a file: its read() throws, and the other events of a batch are not affected.
/// @throws InputError when a folder cannot be listed or holds no events; ConfigError for a
/// "generate:" that is not as above.
std::vector<EventSource> find_events(std::string_view input);

/// The events of several inputs, one after the other.
/// Events have different names: those of files that are called alike in different folders begin with
/// as many folders as it takes, "run1_evt_5" and "run2_evt_5".
/// @throws InputError as above, and for two events of one name, with the origin of both, where folders
/// do not help
std::vector<EventSource> find_events(std::span<const std::string> inputs);

}  // namespace tensoa::track
