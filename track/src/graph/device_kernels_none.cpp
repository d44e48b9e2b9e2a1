// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "graph/device_kernels.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::track::detail {
namespace {

[[noreturn]] void refuse() {
  throw DeviceError(
      "this build of tensoa has no tracking kernels for GPUs; configure it where a CUDA compiler "
      "(nvcc) is found, or build the graph on the host");
}

}  // namespace

bool gpu_has_kernels() noexcept { return false; }
std::size_t gpu_scratch_bytes(const Queue&, std::size_t) { refuse(); }
void gpu_run(const Queue&, const events::Scratch&, const FindStep&) { refuse(); }
void gpu_run(const Queue&, const events::Scratch&, const FindAgainStep&) { refuse(); }
void gpu_run(const Queue&, const events::Scratch&, const FillStep&) { refuse(); }
void gpu_run(const Queue&, const events::Scratch&, const TrackStep&) { refuse(); }

}  // namespace tensoa::track::detail
