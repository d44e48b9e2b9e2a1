// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "tensoa/package/inspect.hpp"

namespace tensoa::package {

/// @throws LoadError
ModelDescription inspect_package(const std::filesystem::path& path);

}  // namespace tensoa::package
