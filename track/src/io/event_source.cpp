// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/event_source.hpp"

#include <memory>
#include <utility>

#include "event_files.hpp"
#include "io/hit_files.hpp"
#include "io/hit_table.hpp"
#include "origins.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::track {
namespace {

namespace fs = std::filesystem;

class OneFile : public events::OriginOf<Event> {
 public:
  explicit OneFile(fs::path path) : path_(std::move(path)) {}
  std::string name(std::size_t) const override { return detail::event_name(path_); }
  std::string text(std::size_t) const override { return path_.string(); }
  const fs::path* file() const override { return &path_; }
  Event read(std::size_t) const override { return read_event(path_); }

 private:
  fs::path path_;
};

std::shared_ptr<const events::OriginOf<Event>> generator(const GeneratorOptions& options) {
  const std::string particles = std::to_string(options.particles);
  return std::make_shared<const events::GeneratedEvents<Event, GeneratorOptions>>(
      options, ':' + std::to_string(options.seed) + ':' + particles, particles + "-particles_",
      generated_name, generate);
}

struct Form {
  static constexpr const char* kFiles = "*.csv[.gz], *.parquet or *.arrow";

  static bool is_event_file(const fs::path& path) { return detail::is_event_file(path); }

  // The events of a file; of one that cannot be opened one, whose read() says why.
  static std::vector<EventSource> of_file(const fs::path& file) {
    if (!events::is_table(file)) return {EventSource(file)};
    try {
      return events::sources_of_table<EventSource>(detail::open_hits(file), detail::read_hits);
    } catch (const InputError&) {
      return {EventSource(file)};
    }
  }

  static std::vector<EventSource> of_generator(std::string_view input) {
    std::uint64_t numbers[] = {0, GeneratorOptions{}.seed,
                               static_cast<std::uint64_t>(GeneratorOptions{}.particles)};
    constexpr std::uint64_t kMost[] = {1'000'000, ~std::uint64_t{0}, 1'000'000};
    events::parse_generate(input, numbers, kMost,
                           "generate:EVENTS[:SEED[:PARTICLES]] with whole numbers, 1 to 1000000 "
                           "events and at most 1000000 particles an event");
    return events::first_sources<EventSource, Event>(
        numbers[0], generator({numbers[1], static_cast<std::int64_t>(numbers[2])}));
  }
};

}  // namespace

EventSource::EventSource(fs::path file) : SourceOf(std::make_shared<OneFile>(std::move(file)), 0) {}
EventSource::EventSource(const GeneratorOptions& options, std::uint64_t index)
    : SourceOf(generator(options), index) {}

std::vector<EventSource> find_events(std::string_view input) {
  const std::string inputs[] = {std::string(input)};
  return find_events(inputs);
}

std::vector<EventSource> find_events(std::span<const std::string> inputs) {
  return events::find_events<EventSource, Form>(inputs);
}

}  // namespace tensoa::track
