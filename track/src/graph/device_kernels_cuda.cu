// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cuda/version>

// cub::DeviceMergeSort may begin its merges before the memory that they read is written: rare illegal
// accesses where several streams sort at once (https://github.com/NVIDIA/cccl/issues/5297). Programmatic
// dependent launches are what makes them begin; without these each kernel waits for the one before.
#if CCCL_VERSION < 3001000
#include <cuda/std/__cccl/cuda_capabilities.h>
#undef _CCCL_HAS_PDL
#define _CCCL_HAS_PDL 0
#endif

#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <string>

#include "graph/device_kernels.hpp"
#include "tensoa/core/device_guard.hpp"
#include "tensoa/core/impl/gpu_error.hpp"

namespace tensoa::track::detail {
namespace {

constexpr unsigned kBlock = 128;

void check(cudaError_t status, const Queue& queue, const char* what) {
  if (status != cudaSuccess) tensoa::detail::throw_gpu_error(queue.device(), what, status);
}

template <class Functor>
__global__ void __launch_bounds__(kBlock) run_rows(std::size_t n, Functor functor) {
  const std::size_t row = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (row < n) functor(row);
}

/// Enqueues kernels; sorts and sums by CUB.
struct CudaLauncher {
  const Queue& queue;
  Scratch scratch;

  cudaStream_t stream() const { return static_cast<cudaStream_t>(queue.native_handle()); }

  template <class Functor>
  void rows(std::size_t n, const Functor& functor) const {
    if (n == 0) return;
    run_rows<<<static_cast<unsigned>((n + kBlock - 1) / kBlock), kBlock, 0, stream()>>>(n, functor);
    check(cudaGetLastError(), queue, "launching a kernel");
  }

  template <class T, class Less>
  void sort(T* data, std::size_t n, Less less) const {
    std::size_t bytes = scratch.bytes;
    check(cub::DeviceMergeSort::SortKeys(scratch.data, bytes, data, n, less, stream()), queue,
          "sorting");
  }

  template <class T>
  void running_sum(const T* in, std::size_t n, T* out) const {
    std::size_t bytes = scratch.bytes;
    check(cub::DeviceScan::InclusiveSum(scratch.data, bytes, in, out, n, stream()), queue,
          "summing");
  }
};

template <class Step>
void run(const Queue& queue, const Scratch& scratch, const Step& step) {
  const DeviceGuard current(queue);
  step.run(CudaLauncher{queue, scratch});
}

}  // namespace

bool gpu_has_kernels() noexcept { return true; }

std::size_t gpu_scratch_bytes(const Queue& queue, std::size_t n_hits) {
  const DeviceGuard current(queue);
  std::size_t sort = 0;
  std::size_t sum = 0;
  std::size_t long_sum = 0;
  check(cub::DeviceMergeSort::SortKeys(nullptr, sort, static_cast<HitKey*>(nullptr), n_hits,
                                       HitKey::Less{}),
        queue, "asking for the memory of a sort");
  check(cub::DeviceScan::InclusiveSum(nullptr, sum, static_cast<const std::int32_t*>(nullptr),
                                      static_cast<std::int32_t*>(nullptr), n_hits),
        queue, "asking for the memory of a sum");
  check(cub::DeviceScan::InclusiveSum(nullptr, long_sum, static_cast<const std::int64_t*>(nullptr),
                                      static_cast<std::int64_t*>(nullptr),
                                      n_hits * LaneSearch::kLanes),
        queue, "asking for the memory of a sum");
  return std::max({sort, sum, long_sum});
}

void gpu_run(const Queue& queue, const Scratch& scratch, const CountStep& step) {
  run(queue, scratch, step);
}
void gpu_run(const Queue& queue, const Scratch& scratch, const FillStep& step) {
  run(queue, scratch, step);
}
void gpu_run(const Queue& queue, const Scratch& scratch, const TrackStep& step) {
  run(queue, scratch, step);
}

}  // namespace tensoa::track::detail
