// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/events/event_source.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <system_error>
#include <unordered_map>

#include "event_files.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::events {
namespace {

namespace fs = std::filesystem;

// The whole number at the start of `text`, and what follows it off `text`.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// The names of the last `depth` folders of a file, "run1_"; nothing where it has fewer.
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

void parse_generate(std::string_view input, std::span<std::uint64_t> numbers,
                    std::span<const std::uint64_t> most, const char* usage) {
  std::string_view rest = input.substr(input.find(':') + 1);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = take_number(rest);
    const bool is_last = rest.empty();
    const bool goes_on = !is_last && rest.front() == ':' && i + 1 < numbers.size();
    if (!number || *number > most[i] || !(is_last || goes_on)) break;
    numbers[i] = *number;
    if (is_last && numbers[0] > 0) return;
    if (goes_on) rest.remove_prefix(1);
  }
  throw ConfigError("input \"" + std::string(input) + "\": expected " + usage);
}

std::vector<fs::path> files_of_folder(const fs::path& folder,
                                      const std::function<bool(const fs::path&)>& is_event_file,
                                      const char* expected) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_regular_file(error) && is_event_file(entry->path()))
      files.push_back(entry->path());
  }
  if (error) throw InputError(folder.string() + ": cannot list the folder: " + error.message());
  if (files.empty()) {
    throw InputError(folder.string() + ": the folder has no events, expected files " + expected);
  }
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
    return natural_less(a.filename().string(), b.filename().string());
  });
  return files;
}

void require_names(const std::vector<EventSource*>& all) {
  std::unordered_map<std::string, std::vector<EventSource*>> by_name;
  for (EventSource* source : all) by_name[source->name()].push_back(source);
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
          prefix = source->from().variant();
        }
        is_whole = is_whole && !prefix;
        if (prefix) source->prefix_ = *prefix;
        names.insert(source->name());
      }
      if (is_whole) break;
    }
  }
  std::unordered_map<std::string, const EventSource*> first;
  for (const EventSource* source : all) {
    const auto [other, is_new] = first.emplace(source->name(), source);
    if (is_new) continue;
    throw InputError("two events are called " + source->name() + ": " + other->second->origin() +
                     " and " + source->origin() + "; rename one of them, or run them apart");
  }
}

}  // namespace tensoa::events
