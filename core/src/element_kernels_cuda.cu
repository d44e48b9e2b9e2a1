// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <algorithm>

#include "device_ops.hpp"
#include "ragged.hpp"
#include "strided.hpp"
#include "tensoa/core/device_guard.hpp"
#include "tensoa/core/impl/gpu_error.hpp"

namespace tensoa::detail {
namespace {

constexpr unsigned kBlock = 256;
constexpr std::int64_t kMostBlocks = 0x7FFF'FFFF;

/// `tensor`: what write_element() has an overload for.
template <class Tensor>
__global__ void __launch_bounds__(kBlock) copy_elements(std::int64_t n, Tensor tensor) {
  const std::int64_t step = std::int64_t{gridDim.x} * kBlock;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kBlock + threadIdx.x; i < n; i += step) {
    write_element(tensor, i);
  }
}

template <class Tensor>
void launch(int device, void* stream, const Tensor& tensor) {
  const Device on = Device::cuda(device);
  const DeviceGuard current(on);
  const std::int64_t n = tensor.elements();
  const std::int64_t blocks = std::min((n + kBlock - 1) / kBlock, kMostBlocks);
  copy_elements<<<static_cast<unsigned>(blocks), kBlock, 0, static_cast<cudaStream_t>(stream)>>>(
      n, tensor);
  const cudaError_t status = cudaGetLastError();
  if (status != cudaSuccess) throw_gpu_error(on, "launching a copy of elements", status);
}

}  // namespace

bool gpu_has_kernels() noexcept { return true; }

void gpu_write(int device, void* stream, const StridedCopy& copy) { launch(device, stream, copy); }
void gpu_write(int device, void* stream, const PaddedRows& rows) { launch(device, stream, rows); }
void gpu_write(int device, void* stream, const GroupMask& mask) { launch(device, stream, mask); }
void gpu_write(int device, void* stream, const GroupSegments& segments) {
  launch(device, stream, segments);
}

}  // namespace tensoa::detail
