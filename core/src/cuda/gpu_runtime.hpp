// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tensoa/core/device.hpp"

// The names by which device_ops_gpu.cpp calls the GPU runtime: of CUDA. hip/gpu_runtime.hpp has the
// same names; the build puts one of the two folders on the include path.

namespace tensoa::detail::gpu {

inline constexpr auto kName = "CUDA";

using Error = cudaError_t;
using Stream = cudaStream_t;
using Event = cudaEvent_t;
using MemoryHandle = cudaIpcMemHandle_t;
using Properties = cudaDeviceProp;

inline constexpr Error kSuccess = cudaSuccess;
inline constexpr Error kNotReady = cudaErrorNotReady;
inline constexpr Error kOutOfMemory = cudaErrorMemoryAllocation;
inline constexpr Error kInvalidHandle = cudaErrorInvalidResourceHandle;
inline constexpr Error kNoDevice = cudaErrorNoDevice;
inline constexpr Error kOldDriver = cudaErrorInsufficientDriver;
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

/// The primary contexts of the devices, as the driver puts them on the stack of a thread. cudaSetDevice
/// would make a context on the device that is put back (half a GB on a GPU that may be unused), and
/// takes five times as long. The driver is not linked: there may be none.
class Contexts {
 public:
  static Contexts& get() {
    static Contexts contexts;
    return contexts;
  }

  Error push(int device) {
    if (status_ != kSuccess) return status_;
    std::atomic<CUcontext>& kept = kept_[static_cast<std::size_t>(device)];
    CUcontext context = kept.load(std::memory_order_acquire);
    if (context == nullptr) {
      CUdevice handle = 0;
      if (const CUresult status = device_get_(&handle, device)) return error_of(status);
      if (const CUresult status = retain_(&context, handle)) return error_of(status);
      kept.store(context, std::memory_order_release);
    }
    return error_of(push_(context));
  }

  void pop() {
    CUcontext context = nullptr;
    static_cast<void>(pop_(&context));
  }

 private:
  Contexts() {
    find(device_get_, "cuDeviceGet");
    find(retain_, "cuDevicePrimaryCtxRetain");
    find(push_, "cuCtxPushCurrent");
    find(pop_, "cuCtxPopCurrent");
  }

  template <class Function>
  void find(Function*& function, const char* name) {
    constexpr unsigned kVersion = 12000;
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    const Error status =
        cudaGetDriverEntryPointByVersion(name, &found, kVersion, cudaEnableDefault, &result);
    if (found == nullptr) status_ = status != kSuccess ? status : cudaErrorCallRequiresNewerDriver;
    function = reinterpret_cast<Function*>(found);
  }

  /// The numbers are the same since CUDA 10.1.
  static Error error_of(CUresult status) { return static_cast<Error>(status); }

  Error status_ = kSuccess;
  decltype(cuDeviceGet)* device_get_ = nullptr;
  decltype(cuDevicePrimaryCtxRetain)* retain_ = nullptr;
  decltype(cuCtxPushCurrent)* push_ = nullptr;
  decltype(cuCtxPopCurrent)* pop_ = nullptr;
  std::array<std::atomic<CUcontext>, kMaxDevices> kept_{};
};

/// Makes `device` current in this thread. @param before for leave()
inline Error enter(int device, int& before) {
  const Error status = cudaGetDevice(&before);
  return status == kSuccess ? Contexts::get().push(device) : status;
}
inline void leave(int /*before*/) { Contexts::get().pop(); }

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

/// @param device -1: memory of the host
inline Error device_of(const void* data, int* device) {
  cudaPointerAttributes attributes{};
  const Error status = cudaPointerGetAttributes(&attributes, data);
  const bool is_there =
      attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
  *device = is_there ? attributes.device : -1;
  return status;
}

using Pool = cudaMemPool_t;
using PoolProperties = cudaMemPoolProps;
inline constexpr auto kPoolOfDevice = cudaMemLocationTypeDevice;
inline constexpr auto kPoolMemory = cudaMemAllocationTypePinned;
inline constexpr auto kPoolKept = cudaMemPoolAttrReleaseThreshold;

inline Error pool_allocate(void** data, std::size_t bytes, Pool pool, Stream stream) {
  return cudaMallocFromPoolAsync(data, bytes, pool, stream);
}

inline Error import_memory(void** data, MemoryHandle handle) {
  return cudaIpcOpenMemHandle(data, handle, cudaIpcMemLazyEnablePeerAccess);
}

inline constexpr auto get_error_string = cudaGetErrorString;
inline constexpr auto get_last_error = cudaGetLastError;
inline constexpr auto get_device_count = cudaGetDeviceCount;
inline constexpr auto driver_version = cudaDriverGetVersion;  ///< 0 without a driver
inline constexpr auto runtime_version = cudaRuntimeGetVersion;
inline constexpr int kMajorVersion = 1000;  ///< 13010 is 13.1
inline constexpr int kMinorVersion = 10;
inline constexpr auto memory_info = cudaMemGetInfo;
inline constexpr auto device_synchronize = cudaDeviceSynchronize;
inline constexpr auto stream_create = cudaStreamCreateWithFlags;
inline constexpr auto stream_destroy = cudaStreamDestroy;
inline constexpr auto stream_synchronize = cudaStreamSynchronize;
inline constexpr auto stream_wait_event = cudaStreamWaitEvent;
inline constexpr auto stream_add_callback = cudaStreamAddCallback;
inline constexpr auto event_create = cudaEventCreateWithFlags;
inline constexpr auto event_destroy = cudaEventDestroy;
inline constexpr auto event_record = cudaEventRecord;
inline constexpr auto event_query = cudaEventQuery;
inline constexpr auto event_synchronize = cudaEventSynchronize;
inline constexpr auto release = cudaFree;
inline constexpr auto release_pinned = cudaFreeHost;
inline constexpr auto copy = cudaMemcpyAsync;
inline constexpr auto copy_2d = cudaMemcpy2DAsync;
inline constexpr auto release_in_order = cudaFreeAsync;
inline constexpr auto pool_create = cudaMemPoolCreate;
inline constexpr auto pool_destroy = cudaMemPoolDestroy;
inline constexpr auto pool_set = cudaMemPoolSetAttribute;
inline constexpr auto pool_trim = cudaMemPoolTrimTo;
inline constexpr auto export_memory = cudaIpcGetMemHandle;
inline constexpr auto import_end = cudaIpcCloseMemHandle;
inline constexpr auto set = cudaMemsetAsync;

}  // namespace tensoa::detail::gpu
