// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/csrc/inductor/aoti_runner/model_container_runner.h>

#include <filesystem>
#include <memory>

#include "tensoa/core/device.hpp"

// Part of the GPU seam of pytorch/ (runtime/torch_memory.hpp).

namespace tensoa::pytorch {

using AotRunner = torch::inductor::AOTIModelContainerRunner;

/// The program in `library`, with its weights on the GPU `device`. The current device stays as it was.
/// Waits for the device, because the weights are copied outside all streams.
std::unique_ptr<AotRunner> make_gpu_runner(const std::filesystem::path& library, Device device);

}  // namespace tensoa::pytorch
