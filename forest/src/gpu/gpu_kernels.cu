// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu_kernel_names.hpp"

#include <algorithm>

#include "gpu/gpu_block.hpp"
#include "gpu/gpu_kernels.hpp"
#include "tensoa/core/device_errors.hpp"
#include "tensoa/core/device_guard.hpp"

namespace tensoa::forest {
namespace {

void check(Device device, gpu::Error status, const char* what) {
  if (status != gpu::kSuccess) tensoa::throw_gpu_error(device, what, status);
}

template <class Sum, std::size_t kPlaces>
__global__ void __launch_bounds__(kMostThreads)
    forest_rows(TENSOA_GRID_CONSTANT GpuCall<Sum, kPlaces> call) {
  extern __shared__ double shared[];
  GpuBlock<Sum> block(call.tables, call.layout, call.places, call.rows,
                      reinterpret_cast<std::byte*>(shared));
  const std::uint32_t lanes = call.layout.lanes;
  const std::int64_t step = std::int64_t{gridDim.x} * call.layout.rows;
  for (std::int64_t row = std::int64_t{blockIdx.x} * call.layout.rows; row < call.rows;
       row += step) {
    block.begin(row, threadIdx.x);
    if (lanes == 1) {
      for (std::uint32_t i = 0; i < call.tables.all_simple; i += block.kSearches) {
        block.bring_searches(i, threadIdx.x);
        __syncthreads();
        block.search_brought(row, i, threadIdx.x);
        __syncthreads();
      }
      for (std::uint32_t i = 0; i < call.tables.all_chunks; ++i) {
        const GpuChunk chunk = call.tables.chunks[i];
        block.bring(chunk, threadIdx.x);
        __syncthreads();
        block.follow_chunk(chunk, threadIdx.x);
        __syncthreads();
      }
    } else {
      block.search_all(row, threadIdx.x);
      __syncthreads();
      for (std::uint32_t group = 0; group < call.tables.all_groups; group += lanes) {
        block.follow_group(group, threadIdx.x);
        __syncthreads();
        block.add(group, threadIdx.x);
        __syncthreads();
      }
    }
    block.end(row, threadIdx.x);
    __syncthreads();
  }
}

template <std::size_t kPlaces, class Sum>
void launch_with(const Queue& queue, const GpuTables<Sum>& tables, GpuLayout layout,
                 std::span<const GpuPlace> places, std::int64_t rows) {
  GpuCall<Sum, kPlaces> call{.tables = tables, .rows = rows, .layout = layout};
  std::ranges::copy(places, call.places);
  constexpr std::int64_t kMostBlocks = 0x7FFF'FFFF;
  const std::int64_t blocks = std::min((rows + layout.rows - 1) / layout.rows, kMostBlocks);
  const std::size_t shared = shared_bytes<Sum>(tables.all_features, tables.all_outputs, layout);
  forest_rows<<<static_cast<unsigned>(blocks), layout.threads(), shared,
                static_cast<gpu::Stream>(queue.native_handle())>>>(call);
  check(queue.device(), gpu::get_last_error(), "launching the kernel of its trees");
}

template <class Sum, std::size_t kPlaces>
void prepare(Device device, std::size_t shared_bytes) {
  check(device, gpu::allow_shared_bytes(forest_rows<Sum, kPlaces>, static_cast<int>(shared_bytes)),
        "giving shared memory to the kernel of trees");
}

template <class Sum>
void prepare_both(Device device, std::size_t shared_bytes) {
  prepare<Sum, kFewPlaces>(device, shared_bytes);
  prepare<Sum, kMostPlaces>(device, shared_bytes);
}

}  // namespace

GpuLimits prepare_gpu_kernels(Device device) {
  const DeviceGuard current(device);
  int multiprocessors = 0;
  int shared_bytes = 0;
  check(device, gpu::multiprocessors(&multiprocessors, device.index),
        "querying the number of multiprocessors");
  check(device, gpu::shared_bytes(&shared_bytes, device.index),
        "querying the size of shared memory");
  const GpuLimits limits{static_cast<std::uint32_t>(multiprocessors),
                         static_cast<std::size_t>(shared_bytes)};
  prepare_both<float>(device, limits.shared_bytes);
  prepare_both<double>(device, limits.shared_bytes);
  return limits;
}

template <class Sum>
void launch(const Queue& queue, const GpuTables<Sum>& tables, GpuLayout layout,
            std::span<const GpuPlace> places, std::int64_t rows) {
  const DeviceGuard current(queue);
  if (places.size() <= kFewPlaces) {
    launch_with<kFewPlaces>(queue, tables, layout, places, rows);
  } else {
    launch_with<kMostPlaces>(queue, tables, layout, places, rows);
  }
}

template void launch(const Queue&, const GpuTables<float>&, GpuLayout, std::span<const GpuPlace>,
                     std::int64_t);
template void launch(const Queue&, const GpuTables<double>&, GpuLayout, std::span<const GpuPlace>,
                     std::int64_t);

}  // namespace tensoa::forest
