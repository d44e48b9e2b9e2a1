// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "tensoa/package/inspect.hpp"

namespace tensoa::pytorch {

/// @throws LoadError
package::ModelDescription inspect_torchscript(const std::filesystem::path& path);

}  // namespace tensoa::pytorch
