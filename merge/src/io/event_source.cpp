// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/merge/event_source.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "event_files.hpp"
#include "origins.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/merge/generator.hpp"

namespace tensoa::merge {
namespace {

namespace fs = std::filesystem;

/// A file that cannot be used.
class Failed : public events::OriginOf<Event> {
 public:
  Failed(fs::path path, std::string reason) : path_(std::move(path)), reason_(std::move(reason)) {}
  std::string name(std::size_t) const override { return events::without_endings(path_); }
  std::string text(std::size_t) const override { return path_.string(); }
  const fs::path* file() const override { return &path_; }
  Event read(std::size_t) const override { throw InputError(reason_); }

 private:
  fs::path path_;
  std::string reason_;
};

Event read_clusters(const events::EventTable& table, std::size_t number) {
  events::EventTable::Rows rows = table.read(number);
  PortableCollection<Cluster> clusters(rows.count(), Device::cpu());
  const View<Cluster> to = clusters.view();
  std::fill_n(to.time.data(), to.size(), kNoTime);
  std::fill_n(to.cells.data(), to.size(), 1);
  std::fill_n(to.particle_id.data(), to.size(), 0);
  rows.copy("x", to.x.data());
  rows.copy("y", to.y.data());
  rows.copy("z", to.z.data());
  rows.copy("energy", to.energy.data());
  rows.copy("layer", to.layer.data());
  rows.copy("fragment_id", to.fragment_id.data());
  if (table.has("time")) rows.copy("time", to.time.data());
  if (table.has("cells")) rows.copy("cells", to.cells.data());
  const bool has_truth = table.has("particle_id");
  if (has_truth) rows.copy("particle_id", to.particle_id.data());
  return make_event(table.name(number), clusters.const_view(), has_truth);
}

struct Form {
  static constexpr const char* kFiles = "*.parquet or *.arrow";

  static bool is_event_file(const fs::path& path) { return events::is_table(path); }

  static std::vector<EventSource> of_file(const fs::path& path) {
    try {
      if (!fs::exists(path)) {
        throw InputError(path.string() +
                         ": no such file or folder, expected a file, a folder, or "
                         "generate:EVENTS[:SEED[:PARTICLES[:PILE_UP]]]");
      }
      if (!is_event_file(path)) {
        throw InputError(path.string() +
                         ": is not a file of clusters, expected .parquet or .arrow");
      }
      const events::TableForm form{.required = {"x", "y", "z", "energy", "layer", "fragment_id"},
                                   .optional = {"time", "cells", "particle_id"},
                                   .row = "cluster"};
      return events::sources_of_table<EventSource>(
          std::make_unique<events::EventTable>(path, events::without_endings(path), form),
          read_clusters);
    } catch (const InputError& error) {
      return {EventSource(std::make_shared<Failed>(path, error.what()), 0)};
    }
  }

  static std::vector<EventSource> of_generator(std::string_view input) {
    const GeneratorOptions defaults;
    std::uint64_t numbers[] = {0, defaults.seed, static_cast<std::uint64_t>(defaults.particles),
                               static_cast<std::uint64_t>(defaults.pile_up)};
    constexpr std::uint64_t kMost[] = {1'000'000, ~std::uint64_t{0}, 10'000, 1000};
    events::parse_generate(
        input, numbers, kMost,
        "generate:EVENTS[:SEED[:PARTICLES[:PILE_UP]]] with whole numbers, 1 to 1000000 events, at "
        "most 10000 particles and 1000 collisions of pile-up an event");
    const GeneratorOptions options{numbers[1], static_cast<std::int64_t>(numbers[2]),
                                   static_cast<std::int64_t>(numbers[3])};
    const std::string particles = std::to_string(options.particles);
    const std::string pile_up = std::to_string(options.pile_up);
    return events::first_sources<EventSource, Event>(
        numbers[0],
        std::make_shared<const events::GeneratedEvents<Event, GeneratorOptions>>(
            options, ':' + std::to_string(options.seed) + ':' + particles + ':' + pile_up,
            particles + "-particles_" + pile_up + "-pile-up_", generated_name, generate));
  }
};

}  // namespace

std::vector<EventSource> find_events(std::span<const std::string> inputs) {
  return events::find_events<EventSource, Form>(inputs);
}

}  // namespace tensoa::merge
