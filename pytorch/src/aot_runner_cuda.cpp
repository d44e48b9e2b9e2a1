// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "aot_runner.hpp"

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/inductor/aoti_runner/model_container_runner_cuda.h>

#include <string>

#include "tensoa/pytorch/engines.hpp"

namespace tensoa::pytorch {

std::string gpu_architecture_of(Device device) {
  const cudaDeviceProp* properties =
      at::cuda::getDeviceProperties(static_cast<c10::DeviceIndex>(device.index));
  return "sm_" + std::to_string(properties->major) + std::to_string(properties->minor);
}

std::unique_ptr<AotRunner> make_gpu_runner(const std::filesystem::path& library, Device device) {
  const c10::cuda::CUDAGuard on_device(static_cast<c10::DeviceIndex>(device.index));
  auto runner = std::make_unique<torch::inductor::AOTIModelContainerRunnerCuda>(
      library.string(), /*num_models=*/1, "cuda:" + std::to_string(device.index),
      library.parent_path().string(), /*run_single_threaded=*/true);
  c10::cuda::device_synchronize();
  return runner;
}

}  // namespace tensoa::pytorch
