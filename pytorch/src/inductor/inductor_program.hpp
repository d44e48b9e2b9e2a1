// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "tensoa/package/program.hpp"

namespace tensoa::pytorch {

/// ProgramKind::load of the kind "inductor".
std::unique_ptr<package::Program> load_inductor_program(const package::Package& package,
                                                        Device device,
                                                        const package::Options& options,
                                                        package::GraphTrial trial);

/// Why the package does not state that its program can be captured on such a GPU; empty where it does.
std::string why_no_graphs(const package::TargetDescription& target,
                          const std::string& gpu_architecture);

/// @param package that runs here
/// @param target of the device, with a program of TorchInductor
/// @param with_graphs on a GPU, warm_up captures a CUDA graph for its queue and numbers of rows
std::unique_ptr<package::Program> make_inductor_program(const package::Package& package,
                                                        const package::TargetDescription& target,
                                                        Device device, bool with_graphs);

}  // namespace tensoa::pytorch
