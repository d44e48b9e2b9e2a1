// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace tensoa::tools {

/// A ratio that may have no denominator, for machines.
inline nlohmann::json or_null(std::optional<double> value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

/// The same for people: "81.20 %", or a dash.
inline std::string percent(std::optional<double> value) {
  return value ? fmt::format("{:.2f} %", 100 * *value) : "–";
}

/// 1234567 as "1 234 567".
inline std::string grouped(std::size_t number) {
  std::string text;
  const std::string digits = std::to_string(number);
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ' ';
    text += digits[i];
  }
  return text;
}

/// 12345 as "12.3 kB".
inline std::string bytes(std::size_t number) {
  if (number < 10'000) return fmt::format("{} B", number);
  if (number < 10'000'000) return fmt::format("{:.1f} kB", static_cast<double>(number) / 1e3);
  return fmt::format("{:.1f} MB", static_cast<double>(number) / 1e6);
}

}  // namespace tensoa::tools
