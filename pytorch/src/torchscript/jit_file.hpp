// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <exception>
#include <filesystem>
#include <functional>
#include <string>

namespace tensoa::pytorch {

/// The line that says what went wrong: torch wraps it into tracebacks of the interpreter and of
/// C++.
std::string short_message(const std::exception& error);

/// The beginning of all messages about a file: "model FILE: ".
std::string subject_of(const std::filesystem::path& path);

/// Calls `load`, and begins what is wrong with `subject`.
/// @param why the rest of the line for an error of torch
/// @throws LoadError for an error of torch; errors of tensoa as they are
void load_named(const std::string& subject, const std::function<void()>& load,
                const std::function<std::string(const std::exception&)>& why);

/// Loads a TorchScript file on the CPU, and gives it to `use`.
/// @throws LoadError when it is not such a file, has no forward method, or `use` throws something of torch
void with_jit_file(const std::filesystem::path& path,
                   const std::function<void(torch::jit::Module& module)>& use);

/// The module with its constants in forward, without the branches that they rule out: also where only such a
/// branch sets an attribute, which is a constant once that branch is gone. It needs nothing of `module`, which may go.
torch::jit::Module frozen(const torch::jit::Module& module);

}  // namespace tensoa::pytorch
