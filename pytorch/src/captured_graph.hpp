// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "tensoa/core/queue.hpp"

// Part of the second seam of pytorch/ (torch_memory.hpp): captured_graph_cuda.cpp or
// captured_graph_none.cpp is linked.

namespace tensoa::pytorch {

/// What some work enqueued on a GPU queue, kept as a CUDA graph: the same kernels with the same
/// addresses, enqueued as often as wanted. Memory that torch's allocator gave to the work stays with
/// the graph.
class CapturedGraph {
 public:
  /// Calls `work`; what it enqueues is kept instead of run. The work has been run before on this queue
  /// and in this thread, so that nothing is loaded or started now. In the process one capture runs at
  /// a time, and no replay meanwhile; nobody else may use the queue.
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

/// Copies `lines` pieces of `bytes` bytes each, that begin `from_pitch` and `to_pitch` bytes apart, on
/// the GPU of `queue` and in its order. @throws std::exception
void copy_lines(const Queue& queue, std::byte* to, std::size_t to_pitch, const std::byte* from,
                std::size_t from_pitch, std::size_t bytes, std::size_t lines);

}  // namespace tensoa::pytorch
