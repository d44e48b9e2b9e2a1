// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <string>

#include "device_ops.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::detail {
namespace {

void check(cudaError_t status, const std::string& what) {
  if (status == cudaSuccess) return;
  // The runtime keeps the error for the next caller who asks; it is reported here, so it is taken
  // away.
  static_cast<void>(cudaGetLastError());
  throw DeviceError(what + ": " + cudaGetErrorString(status));
}

/// Makes `device` current in this thread and puts the one before back.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) {
    check(cudaGetDevice(&before_), "asking for the current CUDA device");
    check(cudaSetDevice(device), "switching to cuda:" + std::to_string(device));
  }
  ~CurrentDevice() { cudaSetDevice(before_); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_ = 0;
};

cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t event_of(void* event) { return static_cast<cudaEvent_t>(event); }

}  // namespace

int gpu_count() noexcept {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    static_cast<void>(
        cudaGetLastError());  // no driver or no device is an answer here, not an error
    return 0;
  }
  return count;
}

std::string gpu_name(int device) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device),
        "asking for the name of cuda:" + std::to_string(device));
  return properties.name;
}

void* gpu_stream_create(int device) {
  const CurrentDevice current(device);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
        "making a stream on cuda:" + std::to_string(device));
  return stream;
}

void gpu_stream_destroy(int, void* stream) noexcept { cudaStreamDestroy(stream_of(stream)); }

void gpu_stream_wait(int device, void* stream) {
  check(cudaStreamSynchronize(stream_of(stream)),
        "waiting for a stream of cuda:" + std::to_string(device));
}

void* gpu_event_create(int device) {
  const CurrentDevice current(device);
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
        "making an event on cuda:" + std::to_string(device));
  return event;
}

void gpu_event_destroy(void* event) noexcept { cudaEventDestroy(event_of(event)); }

void gpu_event_record(int device, void* event, void* stream) {
  const CurrentDevice current(device);
  check(cudaEventRecord(event_of(event), stream_of(stream)),
        "recording an event on cuda:" + std::to_string(device));
}

void gpu_stream_wait_event(int device, void* stream, void* event) {
  const CurrentDevice current(device);
  check(cudaStreamWaitEvent(stream_of(stream), event_of(event), 0),
        "enqueuing a wait on cuda:" + std::to_string(device));
}

void* gpu_allocate(int device, std::size_t bytes) {
  const CurrentDevice current(device);
  void* data = nullptr;
  check(cudaMalloc(&data, bytes),
        "allocating " + std::to_string(bytes) + " bytes on cuda:" + std::to_string(device));
  return data;
}

void gpu_free(int, void* data) noexcept { cudaFree(data); }

void gpu_copy(int device, void* stream, void* to, const void* from, std::size_t bytes) {
  const CurrentDevice current(device);
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_of(stream)),
        "copying " + std::to_string(bytes) + " bytes on cuda:" + std::to_string(device));
}

void gpu_zero(int device, void* stream, void* data, std::size_t bytes) {
  const CurrentDevice current(device);
  check(cudaMemsetAsync(data, 0, bytes, stream_of(stream)),
        "zeroing " + std::to_string(bytes) + " bytes on cuda:" + std::to_string(device));
}

}  // namespace tensoa::detail
