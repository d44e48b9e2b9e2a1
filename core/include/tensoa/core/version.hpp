// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensoa/core/impl/cpp20.hpp"  // first

#include <string_view>

namespace tensoa {

/// The version of this source tree, as in CHANGELOG.md. CMake reads it from here.
inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace tensoa
