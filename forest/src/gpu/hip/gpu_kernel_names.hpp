// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hip/hip_runtime.h>

// The names by which gpu_kernels.cu calls the GPU runtime: of HIP. cuda/gpu_kernel_names.hpp has the same names.

/// A parameter of a kernel that is read where it lies.
#define TENSOA_GRID_CONSTANT const

namespace tensoa::forest::gpu {

using Error = hipError_t;
using Stream = hipStream_t;
inline constexpr Error kSuccess = hipSuccess;
inline constexpr auto get_last_error = hipGetLastError;

inline Error multiprocessors(int* count, int device) {
  return hipDeviceGetAttribute(count, hipDeviceAttributeMultiprocessorCount, device);
}
/// Of a block, at most.
inline Error shared_bytes(int* bytes, int device) {
  return hipDeviceGetAttribute(bytes, hipDeviceAttributeMaxSharedMemoryPerBlock, device);
}
template <class Kernel>
Error allow_shared_bytes(Kernel* kernel, int bytes) {
  return hipFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                             hipFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

}  // namespace tensoa::forest::gpu
