// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cuda_launcher.cuh"
#include "graph/device_kernels.hpp"

namespace tensoa::track::detail {

bool gpu_has_kernels() noexcept { return true; }

std::size_t gpu_scratch_bytes(const Queue& queue, std::size_t n_hits) {
  using events::CudaLauncher;
  return std::max({CudaLauncher::bytes_to_sort<HitKey, HitKey::Less>(queue, n_hits),
                   CudaLauncher::bytes_to_sum<std::int32_t>(queue, n_hits),
                   CudaLauncher::bytes_to_sum<std::int64_t>(queue, n_hits)});
}

void gpu_run(const Queue& queue, const events::Scratch& scratch, const FindStep& step) {
  events::run_step(queue, scratch, step);
}
void gpu_run(const Queue& queue, const events::Scratch& scratch, const FindAgainStep& step) {
  events::run_step(queue, scratch, step);
}
void gpu_run(const Queue& queue, const events::Scratch& scratch, const FillStep& step) {
  events::run_step(queue, scratch, step);
}
void gpu_run(const Queue& queue, const events::Scratch& scratch, const TrackStep& step) {
  events::run_step(queue, scratch, step);
}

}  // namespace tensoa::track::detail
