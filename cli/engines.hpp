// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tensoa::cli {

/// Registers all engines of the build; torch is opened by the first model that needs it.
/// @param command messages about models of servers name its options; it outlives all calls of models
void register_engines(const CLI::App& command);

/// The version of torch that was built with; empty in a build without it.
std::string torch_version();

// Seams, which are chosen at link time: with_torch.cpp or without_torch.cpp, with_remote.cpp or without_remote.cpp.

void register_torch();
void register_remote(const CLI::App& command);

}  // namespace tensoa::cli
