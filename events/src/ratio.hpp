// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

namespace tensoa::events {

/// part / whole; std::nullopt where whole is 0.
inline std::optional<double> ratio(double part, double whole) {
  if (whole == 0) return std::nullopt;
  return part / whole;
}
inline std::optional<double> ratio(std::size_t part, std::size_t whole) {
  return ratio(static_cast<double>(part), static_cast<double>(whole));
}

}  // namespace tensoa::events
