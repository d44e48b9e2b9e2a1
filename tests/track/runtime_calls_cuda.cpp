// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstdlib>

#include "runtime_calls.hpp"

namespace tensoa::test {
namespace {

RuntimeCalls calls;

/// The function that this program's own one hides.
template <class Function>
Function* real(Function*, const char* name) {
  void* const symbol = dlsym(RTLD_NEXT, name);
  if (symbol == nullptr) std::abort();
  return reinterpret_cast<Function*>(symbol);
}

void count_copy(const void* to, const void* from, std::size_t bytes) {
  const auto is_on_device = [](const void* data) {
    cudaPointerAttributes attributes{};
    return cudaPointerGetAttributes(&attributes, data) == cudaSuccess &&
           attributes.type == cudaMemoryTypeDevice;
  };
  const bool to_device = is_on_device(to);
  const bool from_device = is_on_device(from);
  if (to_device && !from_device) {
    ++calls.copies_up;
    calls.bytes_up += bytes;
  } else if (from_device && !to_device) {
    ++calls.copies_down;
    calls.bytes_down += bytes;
  } else {
    ++calls.other_copies;
  }
}

}  // namespace

RuntimeCalls runtime_calls() { return calls; }

}  // namespace tensoa::test

using tensoa::test::calls;
using tensoa::test::count_copy;
using tensoa::test::real;

extern "C" {

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  count_copy(to, from, bytes);
  ++calls.waits;
  return real(cudaMemcpy, "cudaMemcpy")(to, from, bytes, kind);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  count_copy(to, from, bytes);
  return real(cudaMemcpyAsync, "cudaMemcpyAsync")(to, from, bytes, kind, stream);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  ++calls.waits;
  return real(cudaStreamSynchronize, "cudaStreamSynchronize")(stream);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  ++calls.waits;
  return real(cudaEventSynchronize, "cudaEventSynchronize")(event);
}

cudaError_t cudaDeviceSynchronize() {
  ++calls.waits;
  return real(cudaDeviceSynchronize, "cudaDeviceSynchronize")();
}

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  ++calls.allocations;
  return real(static_cast<cudaError_t (*)(void**, std::size_t)>(cudaMalloc), "cudaMalloc")(data,
                                                                                           bytes);
}

cudaError_t cudaFree(void* data) {
  ++calls.allocations;
  return real(cudaFree, "cudaFree")(data);
}

cudaError_t cudaHostAlloc(void** data, std::size_t bytes, unsigned flags) {
  ++calls.allocations;
  return real(static_cast<cudaError_t (*)(void**, std::size_t, unsigned)>(cudaHostAlloc),
              "cudaHostAlloc")(data, bytes, flags);
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             std::size_t shared, cudaStream_t stream) {
  ++calls.kernels;
  return real(
      static_cast<cudaError_t (*)(const void*, dim3, dim3, void**, std::size_t, cudaStream_t)>(
          cudaLaunchKernel),
      "cudaLaunchKernel")(function, grid, block, arguments, shared, stream);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  ++calls.graphs;
  return real(cudaGraphLaunch, "cudaGraphLaunch")(graph, stream);
}

}  // extern "C"
