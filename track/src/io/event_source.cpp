// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/event_source.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "io/event_files.hpp"
#include "io/event_table.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::track {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGenerate = "generate:";
constexpr std::uint64_t kMostEvents = 1'000'000;

[[noreturn]] void reject_generate(std::string_view input) {
  throw ConfigError("input \"" + std::string(input) +
                    "\": expected generate:EVENTS[:SEED[:PARTICLES]] with whole numbers, 1 to " +
                    std::to_string(kMostEvents) + " events and at most 1000000 particles an event");
}

// The whole number at the start of `text`, and what follows it off `text`.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

std::vector<EventSource> generated_events(std::string_view input) {
  std::string_view rest = input.substr(kGenerate.size());
  std::uint64_t fields[] = {0, GeneratorOptions{}.seed,
                            static_cast<std::uint64_t>(GeneratorOptions{}.particles)};
  for (std::uint64_t& field : fields) {
    const auto number = take_number(rest);
    if (!number) reject_generate(input);
    field = *number;
    if (rest.empty()) break;
    if (rest.front() != ':' || &field == std::end(fields) - 1) reject_generate(input);
    rest.remove_prefix(1);
  }
  const auto [events, seed, particles] = fields;
  if (events == 0 || events > kMostEvents || particles > 1'000'000) reject_generate(input);

  const GeneratorOptions options{seed, static_cast<std::int64_t>(particles)};
  std::vector<EventSource> sources;
  sources.reserve(events);
  for (std::uint64_t index = 0; index < events; ++index) sources.emplace_back(options, index);
  return sources;
}

// The events of a file; of one that cannot be opened one, whose read() says why.
void add_events_of_file(std::vector<EventSource>& sources, const fs::path& file) {
  if (!detail::is_table(file)) {
    sources.emplace_back(file);
    return;
  }
  try {
    const auto table = std::make_shared<const detail::EventTable>(file);
    for (std::size_t i = 0; i < table->events(); ++i) sources.emplace_back(table, i);
  } catch (const InputError&) {
    sources.emplace_back(file);
  }
}

std::vector<EventSource> events_of_folder(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_regular_file(error) && detail::is_event_file(entry->path()))
      files.push_back(entry->path());
  }
  if (error) throw InputError(folder.string() + ": cannot list the folder: " + error.message());
  if (files.empty()) {
    throw InputError(folder.string() +
                     ": the folder has no events, expected files *.csv[.gz], *.parquet or *.arrow");
  }
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
    return detail::natural_less(a.filename().string(), b.filename().string());
  });
  std::vector<EventSource> sources;
  sources.reserve(files.size());
  for (const fs::path& file : files) add_events_of_file(sources, file);
  return sources;
}

// The names of the last `depth` folders of a file, "run1_"; nothing where it has not as many.
std::optional<std::string> last_folders(const fs::path& file, std::size_t depth) {
  std::string names;
  fs::path folder = fs::absolute(file).lexically_normal().parent_path();
  for (; depth > 0; --depth, folder = folder.parent_path()) {
    if (!folder.has_relative_path()) return std::nullopt;
    names.insert(0, folder.filename().string() + '_');
  }
  return names;
}

}  // namespace

const fs::path* EventSource::file() const {
  if (const auto* of = std::get_if<OfTable>(&from_)) return &of->table->path();
  return std::get_if<fs::path>(&from_);
}

std::string EventSource::name() const {
  if (const auto* of = std::get_if<OfTable>(&from_)) return prefix_ + of->table->name(of->index);
  if (const auto* file = std::get_if<fs::path>(&from_)) return prefix_ + detail::event_name(*file);
  const auto& made = std::get<Generated>(from_);
  return prefix_ + generated_name(made.options, made.index);
}

std::string EventSource::origin() const {
  if (const auto* of = std::get_if<OfTable>(&from_)) return of->table->origin(of->index);
  if (const auto* file = std::get_if<fs::path>(&from_)) return file->string();
  const auto& made = std::get<Generated>(from_);
  return std::string(kGenerate) + "…:" + std::to_string(made.options.seed) + ':' +
         std::to_string(made.options.particles);
}

Event EventSource::read() const {
  Event event = [&] {
    if (const auto* of = std::get_if<OfTable>(&from_)) return of->table->read(of->index);
    if (const auto* file = std::get_if<fs::path>(&from_)) return read_event(*file);
    const auto& made = std::get<Generated>(from_);
    return generate(made.options, made.index);
  }();
  event.name = name();
  return event;
}

std::function<void()> EventSource::read_ahead() const {
  const auto* of = std::get_if<OfTable>(&from_);
  return of != nullptr ? of->table->read_ahead(of->index) : std::function<void()>();
}

std::vector<EventSource> find_events(std::string_view input) {
  if (input.starts_with(kGenerate)) return generated_events(input);
  const fs::path path(input);
  std::error_code error;
  if (fs::is_directory(path, error)) return events_of_folder(path);
  std::vector<EventSource> sources;
  add_events_of_file(sources, path);
  return sources;
}

std::vector<EventSource> find_events(std::span<const std::string> inputs) {
  std::vector<EventSource> all;
  for (const std::string& input : inputs) {
    std::vector<EventSource> events = find_events(input);
    all.insert(all.end(), std::make_move_iterator(events.begin()),
               std::make_move_iterator(events.end()));
  }
  std::unordered_map<std::string, std::vector<EventSource*>> by_name;
  for (EventSource& source : all) by_name[source.name()].push_back(&source);
  for (auto& [name, sources] : by_name) {
    if (sources.size() == 1) continue;
    std::set<std::string> names;
    for (std::size_t depth = 1; names.size() < sources.size(); ++depth) {
      bool is_whole = true;  // the path of each
      names.clear();
      for (EventSource* source : sources) {
        std::optional<std::string> prefix;
        if (const fs::path* file = source->file()) {
          prefix = last_folders(*file, depth);
        } else if (depth == 1) {
          const auto particles = std::get<EventSource::Generated>(source->from_).options.particles;
          prefix = std::to_string(particles) + "-particles_";
        }
        is_whole = is_whole && !prefix;
        if (prefix) source->prefix_ = *prefix;
        names.insert(source->name());
      }
      if (is_whole) break;
    }
  }
  std::unordered_map<std::string, const EventSource*> first;
  for (const EventSource& source : all) {
    const auto [other, is_new] = first.emplace(source.name(), &source);
    if (is_new) continue;
    throw InputError("two events are called " + source.name() + ": " + other->second->origin() +
                     " and " + source.origin() + "; rename one of them, or run them apart");
  }
  return all;
}

}  // namespace tensoa::track
