// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include "tensoa/engine/engine.hpp"
#include "tensoa/forest/engines.hpp"
#include "tensoa/package/inspect.hpp"
#include "tensoa/package/program.hpp"

namespace tensoa::forest {

/// @throws LoadError
std::shared_ptr<const Engine> load_tree_engine(const std::filesystem::path& path, Device device,
                                               const Options& options);

/// @throws LoadError
package::ModelDescription inspect_tree_file(const std::filesystem::path& path);

/// Whether a tree file takes its columns by the names of its features: there are some that were not made up.
bool goes_by_name(const Ensemble& ensemble);

/// As ProgramKind::load.
std::unique_ptr<package::Program> load_forest_program(const package::Package& package,
                                                      Device device,
                                                      const package::Options& options,
                                                      package::GraphTrial trial);

}  // namespace tensoa::forest
