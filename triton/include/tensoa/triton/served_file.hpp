// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "tensoa/package/inspect.hpp"

namespace tensoa::triton {

/// Returns the model in a version folder of a Triton repository: model.pt2, or else the only file there that
/// ends in .pt2, .json, .ubj, .txt or .onnx.
/// @throws LoadError where nothing, or more than one file, can be meant
std::filesystem::path model_file_in(const std::filesystem::path& folder);

/// @param subject "model FILE: ", the beginning of messages
/// @throws LoadError where all programs of a package need torch, which the back-end does not have
void require_without_torch(const package::ModelDescription& model, const std::string& subject);

}  // namespace tensoa::triton
