// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "tensoa/package/inspect.hpp"

namespace tensoa::pytorch {

/// Reads a TorchScript file: data flow through its frozen graph is followed, nothing else. Any ending but
/// .pt2; a package is read as by package::inspect(). @throws LoadError
package::ModelDescription inspect(const std::filesystem::path& path);

}  // namespace tensoa::pytorch
