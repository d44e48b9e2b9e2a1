// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensoa/events/scores.hpp"

// Parts of the HTML reports of all applications.

namespace tensoa::events {

/// Numbers for unpack() of page.js: base64, little-endian.
std::string base64(std::span<const std::byte> bytes);
template <class T>
std::string pack(std::span<const T> numbers) {
  return base64(std::as_bytes(numbers));
}

/// The numbers of `rows` of a column, as T.
template <class T, class Column>
std::string pack_rows(const Column& column, std::span<const std::size_t> rows) {
  std::vector<T> picked;
  picked.reserve(rows.size());
  for (const std::size_t row : rows) picked.push_back(static_cast<T>(column[row]));
  return pack(std::span<const T>(picked));
}

/// Counts, and the curves of page.js.
nlohmann::json to_json(const ScoreHistogram& scores);

/// The object that --json writes. @throws ConfigError
nlohmann::json parse_summary(std::string_view text);

/// A page of an application with the shared style and script, and its data.
/// @param page has each of @TENSOA_STYLE@, @TENSOA_SCRIPT@ and @TENSOA_REPORT_DATA@ once
std::string filled_page(std::string_view page, const nlohmann::json& data);

}  // namespace tensoa::events
