// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <latch>
#include <memory>

#include "tensoa/core/queue.hpp"

/// @file
/// What bench_scaling asks of the GPU itself, chosen at link time: bench_gpu_cuda.cpp, or
/// bench_gpu_none.cpp, which throws a DeviceError. All queues are queues of GPUs.

namespace tensoa::tools {

/// Bytes of the device's memory that are taken, by anybody.
std::size_t gpu_memory_used(Device device);

/// Kernels and memory operations that `call` enqueues on `queue`. They are recorded, not run.
std::size_t gpu_launches_of(const Queue& queue, const std::function<void()>& call);

/// Calls of a kernel that does nothing: one block of one warp, no arguments.
class EmptyKernel {
 public:
  EmptyKernel();

  /// A function that enqueues the kernel `launches` times, one by one or all in one CUDA graph. Keeps
  /// the queue and the kernel.
  std::function<void()> call(const Queue& queue, std::size_t launches, bool in_graph) const;

 private:
  std::shared_ptr<void> library_;
};

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

}  // namespace tensoa::tools
