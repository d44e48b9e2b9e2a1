// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/Tensor.h>
#include <torch/csrc/inductor/aoti_runner/model_container_runner.h>

#include <filesystem>
#include <memory>
#include <string>
#include <unordered_map>

#include "tensoa/core/device.hpp"

namespace tensoa::pytorch {

using AotRunner = torch::inductor::AOTIModelContainerRunner;

/// Tensors on one device, by the names that the code of a program has for them.
using AotWeights = std::unordered_map<std::string, at::Tensor>;

/// The weights that other runners of the program on `device` can share; empty if some of it is on another device, because
/// torch takes all of one device, or none.
AotWeights weights_to_share(const AotRunner& runner, Device device);

/// The program in `library`, for calls one after another. It reads `weights`, which must outlive it, or, if these
/// are empty, loads its own. The current device stays as it was.
std::unique_ptr<AotRunner> make_runner(const std::filesystem::path& library, Device device,
                                       AotWeights& weights);

/// make_runner() on a GPU: part of the GPU seam of pytorch/ (runtime/torch_memory.hpp).
/// Waits for the device, because weights are copied outside all streams.
std::unique_ptr<AotRunner> make_gpu_runner(const std::filesystem::path& library, Device device,
                                           AotWeights& weights);

}  // namespace tensoa::pytorch
