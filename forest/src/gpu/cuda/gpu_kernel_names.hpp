// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

// The names by which gpu_kernels.cu calls the GPU runtime: of CUDA. hip/gpu_kernel_names.hpp has the same names; the build
// puts one of the two folders on the include path.

/// A parameter of a kernel that is read where it lies.
#define TENSOA_GRID_CONSTANT const __grid_constant__

namespace tensoa::forest::gpu {

using Error = cudaError_t;
using Stream = cudaStream_t;
inline constexpr Error kSuccess = cudaSuccess;
inline constexpr auto get_last_error = cudaGetLastError;

inline Error multiprocessors(int* count, int device) {
  return cudaDeviceGetAttribute(count, cudaDevAttrMultiProcessorCount, device);
}
/// Of a block, at most.
inline Error shared_bytes(int* bytes, int device) {
  return cudaDeviceGetAttribute(bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
}
template <class Kernel>
Error allow_shared_bytes(Kernel* kernel, int bytes) {
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

}  // namespace tensoa::forest::gpu
