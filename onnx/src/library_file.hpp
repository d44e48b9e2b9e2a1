// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace tensoa::onnx {

/// Says where the Python package onnxruntime is, from now on. @param find as of register_engines()
void find_package_by(std::function<std::filesystem::path()> find);

/// Opens libonnxruntime.so, which stays. The header of register_engines() says where it is looked for.
/// @param file set to the file that was opened
/// @return the handle of dlopen()
/// @throws std::runtime_error that says where was looked and how to get it
void* open_library(std::string& file);

}  // namespace tensoa::onnx
