// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tensoa/package/program.hpp"

namespace tensoa::package {

/// The kind of programs that are made of our kernels, with the interface of docs/ahead_of_time.md.
inline constexpr std::string_view kFused = "fused";

/// As ProgramKind::load.
std::unique_ptr<Program> load_fused_program(const Package& package, Device device,
                                            const Options& options, GraphTrial trial);

/// The code of `programs` for a GPU of `architecture`: code runs on its own architecture and on later ones of
/// the same generation, "sm_80" on 8.0, 8.6 and 8.9; the latest is taken. @throws LoadError
std::string_view code_for(const Package& package, std::span<const ProgramDescription> programs,
                          Device device, const std::string& architecture);

/// In fused_cpu.cpp. @param target of CPUs, with a fused program
std::unique_ptr<Program> make_fused_cpu_program(const Package& package,
                                                const TargetDescription& target);

// The seam of package/: fused_gpu_cuda.cpp or fused_gpu_none.cpp is linked, which has gpu_architecture_of()
// (engines.hpp) and load_fused_gpu_part() (impl/fused_gpu_part.hpp), too.

/// @param fused of GPUs
/// @param code for the device
/// @param with_graphs launches all kernels of a call together, as a CUDA graph
/// @throws LoadError in a build without CUDA; DeviceError
std::unique_ptr<Program> make_fused_gpu_program(const Package& package,
                                                const FusedDescription& fused,
                                                std::string_view code, Device device,
                                                bool with_graphs);

}  // namespace tensoa::package
