// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>

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

}  // namespace tensoa::tools
