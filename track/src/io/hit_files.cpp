// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "io/hit_files.hpp"

#include <algorithm>
#include <iterator>

#include "event_files.hpp"

namespace tensoa::track::detail {

bool is_event_file(const std::filesystem::path& path) {
  const std::string whole = path.string();
  if (!whole.ends_with(".csv") && !whole.ends_with(".csv.gz") && !events::is_table(path)) {
    return false;
  }
  const std::string name = events::without_endings(path);
  constexpr std::string_view kOthers[] = {"-cells", "-truth", "-particles", "detectors"};
  return std::none_of(std::begin(kOthers), std::end(kOthers),
                      [&](std::string_view other) { return name.ends_with(other); });
}

std::string event_name(const std::filesystem::path& path) {
  std::string name = events::without_endings(path);
  if (name.ends_with(kHits)) name.resize(name.size() - kHits.size());
  return name;
}

}  // namespace tensoa::track::detail
