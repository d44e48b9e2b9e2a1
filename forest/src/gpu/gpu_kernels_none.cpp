// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/gpu_kernels.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::forest {

GpuLimits prepare_gpu_kernels(Device device) {
  throw ConfigError("trees on " + to_string(device) +
                    " take a kernel, which this build was made without; build with a CUDA "
                    "compiler, or load the model on the CPU");
}

// Never called: there are no limits to begin with.
template <class Sum>
void launch(const Queue& queue, const GpuTables<Sum>& /*tables*/, GpuLayout /*layout*/,
            std::span<const GpuPlace> /*places*/, std::int64_t /*rows*/) {
  prepare_gpu_kernels(queue.device());
}

template void launch(const Queue&, const GpuTables<float>&, GpuLayout, std::span<const GpuPlace>,
                     std::int64_t);
template void launch(const Queue&, const GpuTables<double>&, GpuLayout, std::span<const GpuPlace>,
                     std::int64_t);

}  // namespace tensoa::forest
