// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <latch>
#include <memory>
#include <vector>

#include "tensoa/core/queue.hpp"
#include "tensoa/sched/waiting.hpp"

/// @file
/// What benchmarks need from the GPU itself, chosen at link time: gpu_probe_cuda.cpp, or
/// gpu_probe_none.cpp, which throws a DeviceError. All queues are queues of GPUs.

namespace tensoa::bench {

/// The parameters of one launch for the driver.
struct GpuLaunch {
  std::array<unsigned, 3> blocks{1, 1, 1};
  std::array<unsigned, 3> threads{32, 1, 1};  ///< of a block
  unsigned shared_bytes = 0;                  ///< of a block, dynamic
  std::size_t parameter_bytes = 0;
};

/// The kernels and memory operations that `call` enqueues on `queue`, in order; a memory operation
/// is a launch of one warp without parameters. They are recorded, not run.
std::vector<GpuLaunch> gpu_launches_of(const Queue& queue, const std::function<void()>& call);

/// A function that enqueues what `call` enqueues on `queue`, and on other queues between two events of
/// this one, as one CUDA graph. Keeps the queue and `call`.
std::function<void()> in_one_graph(const Queue& queue, const std::function<void()>& call);

/// Kernels that do nothing, launched as others are: the same numbers of blocks, threads, bytes of shared memory and
/// of parameters, which the driver copies.
class EmptyKernels {
 public:
  explicit EmptyKernels(std::vector<GpuLaunch> launches);

  /// A function that enqueues them all, one by one. Keeps the queue and the kernels.
  std::function<void()> call(const Queue& queue) const;

 private:
  std::vector<GpuLaunch> launches_;
  std::shared_ptr<void> library_;
};

/// A kernel of one warp that keeps its queue busy for a time.
class BusyKernel {
 public:
  BusyKernel();

  void enqueue(const Queue& queue, std::chrono::nanoseconds time) const;

 private:
  std::shared_ptr<void> library_;
  void* kernel_ = nullptr;
};

/// Ways of waiting for a queue that tensoa itself does not use: by cudaLaunchHostFunc, whose function is not
/// called once the context has failed, and by its second version with a thread that spins (CUDA 13.2).
enum class HostFunction { kBlocking, kSpinning };

/// @return none where the driver has no such function
std::unique_ptr<sched::Waiting> wait_by(HostFunction function);

/// Holds up what is enqueued on a queue from now on, until the object goes; then waits for it.
class BlockedQueue {
 public:
  explicit BlockedQueue(Queue queue);
  ~BlockedQueue();
  BlockedQueue(const BlockedQueue&) = delete;
  BlockedQueue& operator=(const BlockedQueue&) = delete;

 private:
  Queue queue_;
  std::latch released_{1};
};

}  // namespace tensoa::bench
