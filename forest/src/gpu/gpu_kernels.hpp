// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu/gpu_tables.hpp"
#include "tensoa/core/queue.hpp"

// The seam to the kernels of trees. gpu_kernels.cu, for CUDA or HIP, is compiled where there is a compiler for it, else
// gpu_kernels_none.cpp.

namespace tensoa::forest {

/// The parameters of a layout.
struct GpuLimits {
  std::uint32_t multiprocessors;
  std::size_t shared_bytes;  ///< of a block, at most
};

/// Makes the kernels ready on `device`. @throws ConfigError where this build has none; DeviceError
GpuLimits prepare_gpu_kernels(Device device);

/// Enqueues the work of `rows` rows, at least one.
/// @param places at most kMostPlaces @throws DeviceError
template <class Sum>
void launch(const Queue& queue, const GpuTables<Sum>& tables, GpuLayout layout,
            std::span<const GpuPlace> places, std::int64_t rows);

}  // namespace tensoa::forest
