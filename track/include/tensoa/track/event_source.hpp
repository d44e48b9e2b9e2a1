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
/// before
///        evt_10), subfolders left out; or "generate:EVENTS[:SEED[:PARTICLES]]". A path where
///        nothing is counts as a file: its read() says so, and the other events of a batch still
///        come out.
/// @throws InputError when a folder cannot be listed or holds no events; ConfigError for a
/// "generate:"
///         that is not as above.
std::vector<EventSource> find_events(std::string_view input);

/// The events of several inputs, one after the other.
/// Events have different names: those of files that are called alike in different folders begin with
/// as many folders as it takes, "run1_evt_5" and "run2_evt_5".
/// @throws InputError as above, and for two events of one name, with the origin of both, where folders
/// do not help
std::vector<EventSource> find_events(std::span<const std::string> inputs);

/// True when `a` comes before `b` in natural order: runs of digits compare as numbers.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace tensoa::track
