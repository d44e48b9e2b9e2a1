// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensoa/core/dtype.hpp"

namespace tensoa::package {

/// The names of all dtypes, as name_of() returns them.
inline std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(DType::kF64); ++i) {
    names.emplace_back(name_of(static_cast<DType>(i)));
  }
  return names;
}

/// The dtype with this name, or nothing.
inline std::optional<DType> dtype_called(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(DType::kF64); ++i) {
    if (name_of(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  }
  return {};
}

}  // namespace tensoa::package
