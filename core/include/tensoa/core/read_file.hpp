// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace tensoa {

/// Returns the bytes of a file.
/// @throws InputError with the path and the reason, also for a folder
std::string read_file(const std::filesystem::path& path);

}  // namespace tensoa
