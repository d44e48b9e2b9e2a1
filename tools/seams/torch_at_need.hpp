// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "seams/torch_library.hpp"

// libtensoa_torch.so for the program and for the module of Python, loaded with the first model that needs it.

namespace tensoa::tools {

/// Loaded by the first call, for the rest of the process.
/// @throws std::runtime_error that says what is missing
const TorchLibrary& torch();

bool torch_is_loaded();

/// The version that was built with.
std::string torch_version();

/// Makes the engines of torch known, which load it when a model needs it. Those of packages are registered before.
/// @param find called where the linker finds no torch: brings its libraries into the process, if it can
void register_torch_at_need(std::function<void()> find = [] {});

}  // namespace tensoa::tools
