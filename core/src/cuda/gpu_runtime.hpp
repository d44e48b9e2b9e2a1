// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <array>

// The names by which device_ops_gpu.cpp calls the GPU runtime: of CUDA. hip/gpu_runtime.hpp has the
// same names; the build puts one of the two folders on the include path.

namespace tensoa::detail::gpu {

inline constexpr auto kName = "CUDA";

using Error = cudaError_t;
using Stream = cudaStream_t;
using Event = cudaEvent_t;
using Properties = cudaDeviceProp;

inline constexpr Error kSuccess = cudaSuccess;
inline constexpr Error kNotReady = cudaErrorNotReady;
inline constexpr Error kOutOfMemory = cudaErrorMemoryAllocation;
inline constexpr Error kInvalidHandle = cudaErrorInvalidResourceHandle;
/// After these no call on the device succeeds in this process.
inline constexpr std::array kLost{
    cudaErrorECCUncorrectable,
    cudaErrorNvlinkUncorrectable,
    cudaErrorContained,
    cudaErrorIllegalAddress,
    cudaErrorLaunchTimeout,
    cudaErrorContextIsDestroyed,
    cudaErrorAssert,
    cudaErrorHardwareStackError,
    cudaErrorIllegalInstruction,
    cudaErrorMisalignedAddress,
    cudaErrorInvalidAddressSpace,
    cudaErrorInvalidPc,
    cudaErrorLaunchFailure,
    cudaErrorTensorMemoryLeak,
    cudaErrorExternalDevice,
    cudaErrorMpsClientTerminated,
};

inline constexpr unsigned kNonBlocking = cudaStreamNonBlocking;
inline constexpr unsigned kNoTiming = cudaEventDisableTiming;
inline constexpr auto kAnyDirection = cudaMemcpyDefault;

inline Error get_properties(Properties& properties, int device) {
  return cudaGetDeviceProperties(&properties, device);
}
inline Error allocate(void** data, std::size_t bytes) { return cudaMalloc(data, bytes); }
/// Pinned for every device.
inline Error allocate_pinned(void** data, std::size_t bytes) {
  return cudaHostAlloc(data, bytes, cudaHostAllocPortable);
}
inline Error stream_device(Stream stream, int* device) {
  return cudaStreamGetDevice(stream, device);
}

inline constexpr auto get_error_string = cudaGetErrorString;
inline constexpr auto get_last_error = cudaGetLastError;
inline constexpr auto get_device_count = cudaGetDeviceCount;
inline constexpr auto get_device = cudaGetDevice;
inline constexpr auto set_device = cudaSetDevice;
inline constexpr auto memory_info = cudaMemGetInfo;
inline constexpr auto stream_create = cudaStreamCreateWithFlags;
inline constexpr auto stream_destroy = cudaStreamDestroy;
inline constexpr auto stream_synchronize = cudaStreamSynchronize;
inline constexpr auto stream_wait_event = cudaStreamWaitEvent;
inline constexpr auto event_create = cudaEventCreateWithFlags;
inline constexpr auto event_destroy = cudaEventDestroy;
inline constexpr auto event_record = cudaEventRecord;
inline constexpr auto event_query = cudaEventQuery;
inline constexpr auto event_synchronize = cudaEventSynchronize;
inline constexpr auto release = cudaFree;
inline constexpr auto release_pinned = cudaFreeHost;
inline constexpr auto copy = cudaMemcpyAsync;
inline constexpr auto set = cudaMemsetAsync;

}  // namespace tensoa::detail::gpu
