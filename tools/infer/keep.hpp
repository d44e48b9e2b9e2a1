// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tensoa/core/dtype.hpp"

namespace tensoa::tools {

enum class Relation : std::uint8_t { kLess, kAtMost, kMore, kAtLeast, kEqual, kDiffers };

/// One comparison of a column with a number.
struct KeepCondition {
  std::string name;
  Relation relation = Relation::kMore;
  double number = 0;
};

/// Reads "score>0.9 && n<=3": comparisons joined by &&, each a name, one of < <= > >= == !=, and a number.
/// @throws ConfigError that quotes what is wrong
std::vector<KeepCondition> parse_keep(const std::string& text);

/// Sets to 0 what is not 0 and whose number does not compare so. Compares as float64: integers beyond 2^53 are
/// rounded; NaN differs from every number and compares in no other way.
/// @param data numbers of `dtype`, one for each element of `keep`
void apply(const KeepCondition& comparison, const std::byte* data, DType dtype,
           std::vector<std::uint8_t>& keep);

}  // namespace tensoa::tools
