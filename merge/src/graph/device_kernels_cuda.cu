// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cuda_launcher.cuh"
#include "graph/device_kernels.hpp"

namespace tensoa::merge::detail {

bool gpu_has_kernels() noexcept { return true; }

std::size_t gpu_scratch_bytes(const Queue& queue, std::size_t n) {
  using events::CudaLauncher;
  return std::max({CudaLauncher::bytes_to_sort<FragmentKey, FragmentKey::Less>(queue, n),
                   CudaLauncher::bytes_to_sum<std::int32_t>(queue, n),
                   CudaLauncher::bytes_to_sum<std::int64_t>(queue, n)});
}

void gpu_run(const Queue& queue, const events::Scratch& scratch, const Step& step) {
  std::visit([&](const auto& kernels) { events::run_step(queue, scratch, kernels); }, step);
}

}  // namespace tensoa::merge::detail
