// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include "tensoa/engine/engine.hpp"

namespace tensoa::pytorch {

/// Loads a package of python -m tensoa.export for one device. @throws LoadError
std::shared_ptr<const Engine> load_aot_engine(const std::filesystem::path& path, Device device,
                                              const ModelOptions& options);

}  // namespace tensoa::pytorch
