// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "event_files.hpp"

#include <algorithm>
#include <iterator>

namespace tensoa::events {
namespace {

constexpr std::string_view kTables[] = {".parquet", ".arrow", ".ipc", ".feather"};

bool ends_with(const std::filesystem::path& path, std::string_view end) {
  return path.string().ends_with(end);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The run of digits at the start of `text`.
std::string_view digits(std::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  return text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

}  // namespace

std::string without_endings(const std::filesystem::path& path) {
  std::string name = path.filename().string();
  const auto strip = [&](std::string_view ending) {
    const bool has_it = name.ends_with(ending);
    if (has_it) name.resize(name.size() - ending.size());
    return has_it;
  };
  if (std::any_of(std::begin(kTables), std::end(kTables), strip)) return name;
  strip(".gz");
  strip(".csv");
  return name;
}

bool is_table(const std::filesystem::path& path) {
  return std::any_of(std::begin(kTables), std::end(kTables),
                     [&](std::string_view ending) { return ends_with(path, ending); });
}

bool natural_less(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a;
  const std::string_view whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (!is_digit(a.front()) || !is_digit(b.front())) {
      if (a.front() != b.front()) return a.front() < b.front();
      a.remove_prefix(1);
      b.remove_prefix(1);
      continue;
    }
    std::string_view digits_a = digits(a);
    std::string_view digits_b = digits(b);
    a.remove_prefix(digits_a.size());
    b.remove_prefix(digits_b.size());
    digits_a.remove_prefix(std::min(digits_a.find_first_not_of('0'), digits_a.size()));
    digits_b.remove_prefix(std::min(digits_b.find_first_not_of('0'), digits_b.size()));
    if (digits_a.size() != digits_b.size()) return digits_a.size() < digits_b.size();
    if (digits_a != digits_b) return digits_a < digits_b;
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;  // they differ in leading zeros only, or not at all
}

}  // namespace tensoa::events
