// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "tensoa/core/queue.hpp"

// Part of the GPU seam of pytorch/ (runtime/torch_memory.hpp).

namespace tensoa::pytorch {

/// A CUDA graph of the work that a function enqueues on a GPU queue: the same kernels with the same
/// addresses, which can be enqueued any number of times. The graph keeps the memory that torch allocated
/// for the work.
class CapturedGraph {
 public:
  /// Calls `work`; what it enqueues is kept instead of run. The work has been run before on this queue
  /// and in this thread, so that nothing is loaded or started now. In the process one capture runs at
  /// a time, and no replay meanwhile; no other code may use the queue.
  ///
  /// This does what at::cuda::CUDAGraph does but for random numbers, because that class leaves torch's
  /// allocator and generator in the middle of a capture when one fails (facts: torch 2.11).
  /// @throws std::exception with the reason, what `work` throws first. The queue is then out of the
  /// capture and torch's allocator as before.
  CapturedGraph(const Queue& queue, const std::function<void()>& work);

  /// No replay may be running.
  ~CapturedGraph();
  CapturedGraph(const CapturedGraph&) = delete;
  CapturedGraph& operator=(const CapturedGraph&) = delete;

  /// Enqueues the work on `queue`, of the same device. @throws std::exception
  void replay(const Queue& queue) const;

 private:
  struct Captured;
  std::unique_ptr<Captured> captured_;
};

}  // namespace tensoa::pytorch
