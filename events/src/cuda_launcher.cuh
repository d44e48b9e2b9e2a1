// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cuda/version>

// cub::DeviceMergeSort may begin its merges before the memory that they read is written: rare illegal
// accesses where several streams sort at the same time (https://github.com/NVIDIA/cccl/issues/5297). Programmatic
// dependent launches are what makes them begin; without these each kernel waits for the one before.
#if CCCL_VERSION < 3001000
#include <cuda/std/__cccl/cuda_capabilities.h>
#undef _CCCL_HAS_PDL
#define _CCCL_HAS_PDL 0
#endif

#include <cub/block/block_scan.cuh>
#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "scratch.hpp"
#include "tensoa/core/device_errors.hpp"
#include "tensoa/core/device_guard.hpp"
#include "tensoa/core/queue.hpp"

// Runs the kernels of applications on CUDA devices.

namespace tensoa::events {

inline void check(cudaError_t status, const Queue& queue, const char* what) {
  if (status != cudaSuccess) tensoa::throw_gpu_error(queue.device(), what, status);
}

constexpr unsigned kBlock = 128;

template <class Functor>
__global__ void __launch_bounds__(kBlock) run_rows(std::size_t n, Functor functor) {
  const std::size_t row = std::size_t{blockIdx.x} * kBlock + threadIdx.x;
  if (row < n) functor(row);
}

/// A block. It sorts up to one value a lane.
struct BlockTeam {
  static constexpr unsigned kLanes = 128;

  __device__ std::size_t lane() const { return threadIdx.x; }
  __device__ std::size_t size() const { return kLanes; }
  __device__ void sync() const { __syncthreads(); }
  __device__ bool any(bool condition) const { return __syncthreads_or(condition ? 1 : 0) != 0; }

  /// Each lane's value to the place that is the number of values before it.
  template <class T, class Less>
  __device__ bool sort(T* values, std::size_t n, const Less& less) const {
    if (n > kLanes) return false;
    const T own = values[lane() < n ? lane() : 0];
    std::size_t place = 0;
    for (std::size_t i = 0; i < n; ++i) place += less(values[i], own) ? 1 : 0;
    sync();
    if (lane() < n) values[place] = own;
    sync();
    return true;
  }
};

template <class Functor>
__global__ void __launch_bounds__(BlockTeam::kLanes) run_teams(Functor functor) {
  functor(BlockTeam(), std::size_t{blockIdx.x});
}

/// A warp, whose lanes hold the parts of a sum (serial_launcher.hpp).
struct WarpTeam {
  static constexpr unsigned kLanes = 32;
  static constexpr unsigned kAll = 0xffffffffU;

  __device__ std::size_t lane() const { return threadIdx.x % kLanes; }
  __device__ std::size_t size() const { return kLanes; }
  __device__ void sync() const { __syncwarp(); }
  __device__ bool any(bool condition) const { return __any_sync(kAll, condition) != 0; }

  template <std::size_t N, class Terms>
  __device__ void sum(std::size_t n, double (&sums)[N], const Terms& terms) const {
    for (double& own : sums) own = 0;
    for (std::size_t i = lane(); i < n; i += kLanes) terms(i, sums);
    for (unsigned half = kLanes / 2; half > 0; half /= 2) {
      for (double& own : sums) own += __shfl_xor_sync(kAll, own, half);
    }
  }

  template <class T, std::size_t N, class Terms>
  __device__ void most(std::size_t n, T (&most)[N], const Terms& terms) const {
    for (std::size_t i = lane(); i < n; i += kLanes) terms(i, most);
    for (unsigned half = kLanes / 2; half > 0; half /= 2) {
      for (T& own : most) {
        const T other = __shfl_xor_sync(kAll, own, half);
        if (other > own) own = other;
      }
    }
  }

  __device__ std::size_t append(bool condition, std::size_t& count) const {
    const unsigned all = __ballot_sync(kAll, condition);
    const std::size_t place = count + __popc(all & ((1U << lane()) - 1));
    count += __popc(all);
    return place;
  }

  /// Each value to the place that is the number of values before it.
  template <class T, class Less>
  __device__ void sort_into(const T* in, std::size_t n, T* out, const Less& less) const {
    sync();
    for (std::size_t i = lane(); i < n; i += kLanes) {
      const T own = in[i];
      std::size_t place = 0;
      for (std::size_t k = 0; k < n; ++k) place += less(in[k], own) ? 1 : 0;
      out[place] = own;
    }
    sync();
  }
};

template <class Functor>
__global__ void __launch_bounds__(kBlock) run_warps(std::size_t n, Functor functor) {
  const std::size_t i =
      std::size_t{blockIdx.x} * (kBlock / WarpTeam::kLanes) + threadIdx.x / WarpTeam::kLanes;
  if (i < n) functor(WarpTeam(), i);  // the same for all lanes
}

/// Up to this number of rows one kernel sorts or sums faster than the several of CUB.
constexpr std::size_t kFew = 8192;

/// Each row to the place that is the number of rows before it: n² comparisons. A block has a row for
/// each lane, and its warps share the others, which come in through shared memory.
constexpr unsigned kRowsOfSort = 32;
constexpr unsigned kSortBlock = 16 * kRowsOfSort;
template <class T, class Less>
__global__ void __launch_bounds__(kSortBlock)
    sort_few(std::size_t n, const T* in, T* out, Less less) {
  __shared__ T others[kSortBlock];
  __shared__ unsigned places[kRowsOfSort];
  const unsigned lane = threadIdx.x % kRowsOfSort;
  const std::size_t row = std::size_t{blockIdx.x} * kRowsOfSort + lane;
  const T own = in[row < n ? row : 0];
  unsigned before = 0;
  for (std::size_t first = 0; first < n; first += kSortBlock) {
    __syncthreads();
    if (first + threadIdx.x < n) others[threadIdx.x] = in[first + threadIdx.x];
    __syncthreads();
    const auto here = static_cast<unsigned>(min(std::size_t{kSortBlock}, n - first));
#pragma unroll 4
    for (unsigned i = threadIdx.x / kRowsOfSort; i < here; i += kSortBlock / kRowsOfSort) {
      before += less(others[i], own) ? 1 : 0;
    }
  }
  if (threadIdx.x < kRowsOfSort) places[lane] = 0;
  __syncthreads();
  atomicAdd(&places[lane], before);
  __syncthreads();
  if (threadIdx.x < kRowsOfSort && row < n) out[places[lane]] = own;
}

template <class T>
__global__ void __launch_bounds__(1024) sum_few(std::size_t n, const T* in, T* out) {
  constexpr int kOfThread = kFew / 1024;
  using Scan = cub::BlockScan<T, 1024>;
  __shared__ typename Scan::TempStorage scratch;
  T values[kOfThread];
  const std::size_t first = kOfThread * threadIdx.x;
  for (int i = 0; i < kOfThread; ++i) values[i] = first + i < n ? in[first + i] : T{};
  Scan(scratch).InclusiveSum(values, values);
  for (int i = 0; i < kOfThread; ++i) {
    if (first + i < n) out[first + i] = values[i];
  }
}

/// Enqueues kernels; sorts and sums of many rows by CUB.
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

  template <class Functor>
  void teams(std::size_t n, const Functor& functor) const {
    if (n == 0) return;
    run_teams<<<static_cast<unsigned>(n), BlockTeam::kLanes, 0, stream()>>>(functor);
    check(cudaGetLastError(), queue, "launching a kernel");
  }

  template <class Functor>
  void warps(std::size_t n, const Functor& functor) const {
    if (n == 0) return;
    constexpr std::size_t kOfBlock = kBlock / WarpTeam::kLanes;
    run_warps<<<static_cast<unsigned>((n + kOfBlock - 1) / kOfBlock), kBlock, 0, stream()>>>(
        n, functor);
    check(cudaGetLastError(), queue, "launching a kernel");
  }

  template <class T, class Less>
  void sort(const T* in, std::size_t n, T* out, Less less) const {
    if (n <= kFew) {
      const auto blocks = static_cast<unsigned>((n + kRowsOfSort - 1) / kRowsOfSort);
      sort_few<<<blocks, kSortBlock, 0, stream()>>>(n, in, out, less);
      check(cudaGetLastError(), queue, "sorting");
      return;
    }
    std::size_t bytes = scratch.bytes;
    check(cub::DeviceMergeSort::SortKeysCopy(scratch.data, bytes, in, out, n, less, stream()),
          queue, "sorting");
  }

  template <class T>
  void running_sum(const T* in, std::size_t n, T* out) const {
    if (n <= kFew) {
      sum_few<<<1, 1024, 0, stream()>>>(n, in, out);
      check(cudaGetLastError(), queue, "summing");
      return;
    }
    std::size_t bytes = scratch.bytes;
    check(cub::DeviceScan::InclusiveSum(scratch.data, bytes, in, out, n, stream()), queue,
          "summing");
  }

  /// Bytes of Scratch for n rows.
  template <class T, class Less>
  static std::size_t bytes_to_sort(const Queue& queue, std::size_t n) {
    const DeviceGuard current(queue);
    std::size_t bytes = 0;
    check(cub::DeviceMergeSort::SortKeysCopy(nullptr, bytes, static_cast<const T*>(nullptr),
                                             static_cast<T*>(nullptr), n, Less{}),
          queue, "querying the memory of a sort");
    return bytes;
  }
  template <class T>
  static std::size_t bytes_to_sum(const Queue& queue, std::size_t n) {
    const DeviceGuard current(queue);
    std::size_t bytes = 0;
    check(cub::DeviceScan::InclusiveSum(nullptr, bytes, static_cast<const T*>(nullptr),
                                        static_cast<T*>(nullptr), n),
          queue, "querying the memory of a sum");
    return bytes;
  }
};

/// Runs a step, any type with run(launcher), on the queue.
template <class Step>
void run_step(const Queue& queue, const Scratch& scratch, const Step& step) {
  const DeviceGuard current(queue);
  step.run(CudaLauncher{queue, scratch});
}

}  // namespace tensoa::events
