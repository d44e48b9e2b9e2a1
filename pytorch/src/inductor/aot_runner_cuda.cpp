// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "inductor/aot_runner.hpp"

#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/inductor/aoti_runner/model_container_runner_cuda.h>

#include <cstddef>
#include <string>

#include "inductor/runner_of_weights.hpp"

namespace tensoa::pytorch {

std::unique_ptr<AotRunner> make_gpu_runner(const std::filesystem::path& library, Device device,
                                           AotWeights& weights) {
  const c10::cuda::CUDAGuard on_device(static_cast<c10::DeviceIndex>(device.index));
  auto runner = make_runner_of<torch::inductor::AOTIModelContainerRunnerCuda>(
      weights, library.string(), /*num_models=*/std::size_t{1},
      "cuda:" + std::to_string(device.index), library.parent_path().string());
  c10::cuda::device_synchronize();
  return runner;
}

}  // namespace tensoa::pytorch
