// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/nearest_name.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <limits>
#include <numeric>

#include "tensoa/core/printable.hpp"

namespace tensoa {
namespace {

/// Insertions, removals and exchanges of a character that make one name of the other, in lower case.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t exchanged = diagonal + (lower(a[i]) == lower(b[j]) ? 0U : 1U);
      diagonal = row[j + 1];
      row[j + 1] = std::min({exchanged, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_of(std::string_view name, const std::vector<std::string>& names) {
  const std::string* nearest = nullptr;
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (const std::string& other : names) {
    const bool is_field = other.ends_with('.' + std::string(name));
    const std::size_t needed = is_field ? 0 : edits(name, other);
    if (needed >= fewest || 2 * needed > std::max(name.size(), other.size())) continue;
    fewest = needed;
    nearest = &other;
  }
  return nearest == nullptr ? "" : "; the nearest is " + printable(*nearest);
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 40;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) {
    text += (i > 0 ? ", " : "") + names[i];
  }
  if (names.size() > kMost) text += ", … (" + std::to_string(names.size()) + ")";
  return text;
}

}  // namespace tensoa
