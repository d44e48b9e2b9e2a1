// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace tensoa::cli {

/// Returns the folder of the running program.
std::filesystem::path program_folder();

/// The model next to the program, or installed with it: what `make models` writes, else the package of
/// `make demo`. @param name of the file; "tensoa" for tracks, "merge" for fragments
std::string default_model(const std::string& name = "tensoa");

/// The path. @throws LoadError that says how to get one, where it is the default and nothing is there
const std::string& require_model(const std::string& path);

}  // namespace tensoa::cli
