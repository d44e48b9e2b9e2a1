// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <span>

#include "device_ops.hpp"
#include "ragged.hpp"
#include "strided.hpp"
#include "tensoa/core/device_errors.hpp"
#include "tensoa/core/device_guard.hpp"

namespace tensoa::detail {
namespace {

constexpr unsigned kBlock = 256;
constexpr std::int64_t kMostBlocks = 0x7FFF'FFFF;

/// The part of this thread among those of its row of the grid. `tensor`: what write_element() has an overload for.
template <class Tensor>
__device__ void write_elements(const Tensor& tensor, std::int64_t n) {
  const std::int64_t step = std::int64_t{gridDim.x} * kBlock;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kBlock + threadIdx.x; i < n; i += step) {
    write_element(tensor, i);
  }
}

template <class Tensor>
__global__ void __launch_bounds__(kBlock) copy_elements(std::int64_t n, Tensor tensor) {
  write_elements(tensor, n);
}

/// Row y of the grid makes copy number y.
__global__ void __launch_bounds__(kBlock) copy_tensors(const __grid_constant__ CopiesOfKernel all) {
  const StridedCopy& copy = all[blockIdx.y];
  write_elements(copy, copy.elements());
}

unsigned blocks_for(std::int64_t elements) {
  return static_cast<unsigned>(std::min((elements + kBlock - 1) / kBlock, kMostBlocks));
}

void throw_if_failed(Device device) {
  const cudaError_t status = cudaGetLastError();
  if (status != cudaSuccess) throw_gpu_error(device, "launching a copy of elements", status);
}

template <class Tensor>
void launch(int device, void* stream, const Tensor& tensor) {
  const Device on = Device::cuda(device);
  const DeviceGuard current(on);
  const std::int64_t n = tensor.elements();
  copy_elements<<<blocks_for(n), kBlock, 0, static_cast<cudaStream_t>(stream)>>>(n, tensor);
  throw_if_failed(on);
}

}  // namespace

bool gpu_has_kernels() noexcept { return true; }

void gpu_write(int device, void* stream, std::span<const StridedCopy> copies) {
  if (copies.size() == 1) return launch(device, stream, copies[0]);
  const Device on = Device::cuda(device);
  const DeviceGuard current(on);
  CopiesOfKernel all;
  std::ranges::copy(copies, all.begin());
  std::int64_t most = 0;
  for (const StridedCopy& copy : copies) most = std::max(most, copy.elements());
  const dim3 grid(blocks_for(most), static_cast<unsigned>(copies.size()));
  copy_tensors<<<grid, kBlock, 0, static_cast<cudaStream_t>(stream)>>>(all);
  throw_if_failed(on);
}
void gpu_write(int device, void* stream, const PaddedRows& rows) { launch(device, stream, rows); }
void gpu_write(int device, void* stream, const GroupMask& mask) { launch(device, stream, mask); }
void gpu_write(int device, void* stream, const GroupSegments& segments) {
  launch(device, stream, segments);
}

}  // namespace tensoa::detail
