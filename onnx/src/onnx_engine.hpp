// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include "tensoa/core/device.hpp"
#include "tensoa/engine/engine.hpp"
#include "tensoa/package/inspect.hpp"

namespace tensoa::onnx {

/// @throws LoadError, also for a GPU; DeviceFullError
std::shared_ptr<const Engine> load_onnx_engine(const std::filesystem::path& path, Device device);

/// Loads the file into ONNX Runtime and runs nothing. @throws LoadError, DeviceFullError
package::ModelDescription inspect_onnx(const std::filesystem::path& path);

}  // namespace tensoa::onnx
