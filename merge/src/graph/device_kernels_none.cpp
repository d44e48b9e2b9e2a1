// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "graph/device_kernels.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::merge::detail {
namespace {

[[noreturn]] void refuse() {
  throw DeviceError(
      "this build of tensoa has no merging kernels for GPUs; configure it where a CUDA compiler "
      "(nvcc) is found, or merge on the CPU");
}

}  // namespace

bool gpu_has_kernels() noexcept { return false; }
std::size_t gpu_scratch_bytes(const Queue&, std::size_t) { refuse(); }
void gpu_run(const Queue&, const events::Scratch&, const Step&) { refuse(); }

}  // namespace tensoa::merge::detail
