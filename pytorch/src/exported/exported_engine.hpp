// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include "tensoa/engine/engine.hpp"
#include "tensoa/package/inspect.hpp"

namespace tensoa::pytorch {

/// Loads a file of torch.export.save for one device. @throws LoadError
std::shared_ptr<const Engine> load_exported_engine(const std::filesystem::path& path,
                                                   Device device);

/// @throws LoadError
package::ModelDescription inspect_exported(const std::filesystem::path& path);

}  // namespace tensoa::pytorch
