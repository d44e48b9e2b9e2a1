// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tensoa/package/program.hpp"

namespace tensoa::package {

/// Loads the first program of the package that is for such devices, by its registered kind.
/// @throws LoadError where none suits, or its kind is not registered; as ProgramKind::load
std::unique_ptr<Program> load_program(const Package& package, Device device, const Options& options,
                                      GraphTrial trial);

}  // namespace tensoa::package
