// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace tensoa::package {

/// Of a file or folder in a format of another program: what it is, and what to do with it. Nothing for
/// other formats, and for archives of torch and of tensoa.
/// @throws std::exception where it cannot be read
std::optional<std::string> what_other_format(const std::filesystem::path& path);

/// Whether a file is a model of ONNX. @throws std::exception where it cannot be read
bool is_onnx(const std::filesystem::path& file);

}  // namespace tensoa::package
