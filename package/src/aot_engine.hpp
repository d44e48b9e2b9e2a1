// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include "tensoa/engine/engine.hpp"
#include "tensoa/package/program.hpp"

namespace tensoa::package {

/// Loads a package of tensoa compile for one device. @throws LoadError
std::shared_ptr<const Engine> load_aot_engine(const std::filesystem::path& path, Device device,
                                              const Options& options,
                                              GraphTrial trial = GraphTrial::kNo);

}  // namespace tensoa::package
