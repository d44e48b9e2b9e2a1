// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tensoa/core/error.hpp"
#include "tensoa/track/event.hpp"

// Requirements of all readers of hits.

namespace tensoa::track::detail {

/// @param row how the message calls a row: "line " in a text, "row " in a table
/// @param first_row the number of row 0 there
/// @throws InputError for the first number that is NaN or infinite
template <class T>
void require_finite(const std::string& file, const char* row, const char* name, const T* values,
                    std::size_t n, std::size_t first_row) {
  for (std::size_t i = 0; i < n; ++i) {
    if (std::isfinite(values[i])) continue;
    throw InputError(file + ": " + row + std::to_string(i + first_row) + ": got " + name + " = " +
                     (std::isnan(values[i]) ? "NaN" : "infinity") + ", expected a finite number");
  }
}

/// The column `layer` of TrackML's two numbers; nothing where they are out of range.
std::optional<std::int32_t> layer_of(std::int32_t volume_id, std::int32_t layer_id);

/// The layers that layer_of() expects, for a message.
std::string layer_message(std::int32_t volume_id, std::int32_t layer_id);

/// @throws InputError for a hit_id that is there twice
void require_unique_ids(const std::string& file, const View<Hit>& hits);

}  // namespace tensoa::track::detail
