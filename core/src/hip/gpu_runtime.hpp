// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <hip/hip_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>

// The names by which device_ops_gpu.cpp calls the GPU runtime: of HIP. cuda/gpu_runtime.hpp has the
// same names.

namespace tensoa::detail::gpu {

inline constexpr auto kName = "HIP";

using Error = hipError_t;
using Stream = hipStream_t;
using Event = hipEvent_t;
using MemoryHandle = hipIpcMemHandle_t;
using Properties = hipDeviceProp_t;

inline constexpr Error kSuccess = hipSuccess;
inline constexpr Error kNotReady = hipErrorNotReady;
inline constexpr Error kOutOfMemory = hipErrorOutOfMemory;
inline constexpr Error kInvalidHandle = hipErrorInvalidHandle;
inline constexpr Error kNoDevice = hipErrorNoDevice;
inline constexpr Error kOldDriver = hipErrorInsufficientDriver;
/// After these no call on the device succeeds in this process.
inline constexpr std::array kLost{
    hipErrorECCNotCorrectable,  hipErrorIllegalAddress, hipErrorLaunchTimeOut,
    hipErrorContextIsDestroyed, hipErrorAssert,         hipErrorLaunchFailure,
};

inline constexpr unsigned kNonBlocking = hipStreamNonBlocking;
inline constexpr unsigned kNoTiming = hipEventDisableTiming;
inline constexpr auto kAnyDirection = hipMemcpyDefault;

/// Makes `device` current in this thread. @param before for leave()
inline void leave(int before) {
  if (hipSetDevice(before) != kSuccess) static_cast<void>(hipGetLastError());
}
inline Error enter(int device, int& before) {
  Error status = hipGetDevice(&before);
  if (status == kSuccess) status = hipSetDevice(device);
  if (status != kSuccess) leave(before);  // a device that fails can be current
  return status;
}

inline Error get_properties(Properties& properties, int device) {
  return hipGetDeviceProperties(&properties, device);
}
// Overloaded, and of a release that has hipStreamGetDevice there may be none.
inline Error allocate(void** data, std::size_t bytes) { return hipMalloc(data, bytes); }
/// Pinned for every device.
inline Error allocate_pinned(void** data, std::size_t bytes) {
  return hipHostMalloc(data, bytes, hipHostMallocPortable);
}
inline Error stream_device(Stream stream, int* device) {
  *device = hipGetStreamDeviceId(stream);
  return *device < 0 ? hipErrorInvalidHandle : hipSuccess;
}

/// @param device -1: memory of the host
inline Error device_of(const void* data, int* device) {
  hipMemoryType type{};
  void* const pointer = const_cast<void*>(data);
  Error status = hipPointerGetAttribute(&type, HIP_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer);
  *device = -1;
  if (status == hipErrorInvalidValue) {  // not of HIP's
    static_cast<void>(hipGetLastError());
    return kSuccess;
  }
  if (status != kSuccess || type == hipMemoryTypeHost) return status;
  return hipPointerGetAttribute(device, HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer);
}

using Pool = hipMemPool_t;
using PoolProperties = hipMemPoolProps;
inline constexpr auto kPoolOfDevice = hipMemLocationTypeDevice;
inline constexpr auto kPoolMemory = hipMemAllocationTypePinned;
inline constexpr auto kPoolKept = hipMemPoolAttrReleaseThreshold;

inline Error pool_allocate(void** data, std::size_t bytes, Pool pool, Stream stream) {
  return hipMallocFromPoolAsync(data, bytes, pool, stream);
}

inline Error import_memory(void** data, MemoryHandle handle) {
  return hipIpcOpenMemHandle(data, handle, hipIpcMemLazyEnablePeerAccess);
}

inline constexpr auto get_error_string = hipGetErrorString;
inline constexpr auto get_last_error = hipGetLastError;
inline constexpr auto get_device_count = hipGetDeviceCount;
inline constexpr auto driver_version = hipDriverGetVersion;
inline constexpr auto runtime_version = hipRuntimeGetVersion;
inline constexpr int kMajorVersion = 10'000'000;
inline constexpr int kMinorVersion = 100'000;
inline constexpr auto memory_info = hipMemGetInfo;
inline constexpr auto device_synchronize = hipDeviceSynchronize;
inline constexpr auto stream_create = hipStreamCreateWithFlags;
inline constexpr auto stream_destroy = hipStreamDestroy;
inline constexpr auto stream_synchronize = hipStreamSynchronize;
inline constexpr auto stream_wait_event = hipStreamWaitEvent;
inline constexpr auto stream_add_callback = hipStreamAddCallback;
inline constexpr auto event_create = hipEventCreateWithFlags;
inline constexpr auto event_destroy = hipEventDestroy;
inline constexpr auto event_record = hipEventRecord;
inline constexpr auto event_query = hipEventQuery;
inline constexpr auto event_synchronize = hipEventSynchronize;
inline constexpr auto release = hipFree;
inline constexpr auto release_pinned = hipHostFree;
inline constexpr auto copy = hipMemcpyAsync;
inline constexpr auto copy_2d = hipMemcpy2DAsync;
inline constexpr auto release_in_order = hipFreeAsync;
inline constexpr auto pool_create = hipMemPoolCreate;
inline constexpr auto pool_destroy = hipMemPoolDestroy;
inline constexpr auto pool_set = hipMemPoolSetAttribute;
inline constexpr auto pool_trim = hipMemPoolTrimTo;
inline constexpr auto export_memory = hipIpcGetMemHandle;
inline constexpr auto import_end = hipIpcCloseMemHandle;
inline constexpr auto set = hipMemsetAsync;

}  // namespace tensoa::detail::gpu
