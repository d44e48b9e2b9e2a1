// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <ATen/Context.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <cuda_runtime_api.h>

#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>

#include "inductor/captured_graph.hpp"
#include "runtime/stream_guard.hpp"

namespace tensoa::pytorch {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

cudaStream_t native_stream(const Queue& queue) {
  return static_cast<cudaStream_t>(queue.native_handle());
}

/// Held by a capture alone, by replays together.
std::shared_mutex& captures() {
  static std::shared_mutex mutex;
  return mutex;
}

/// Memory that torch's allocator reserves for one graph as long as this object lives.
class Pool {
 public:
  Pool(c10::DeviceIndex device, cudaStream_t stream)
      : device_(device), id_(at::cuda::graph_pool_handle()) {
    allocator::beginAllocateToPool(device_, id_,
                                   [stream](cudaStream_t other) { return other == stream; });
  }
  ~Pool() {
    close();
    allocator::releasePool(device_, id_);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// From now on the stream's memory is taken from elsewhere again.
  void close() {
    if (!is_open_) return;
    is_open_ = false;
    allocator::endAllocateToPool(device_, id_);
  }

 private:
  c10::DeviceIndex device_;
  c10::MempoolId_t id_;
  bool is_open_ = true;
};

/// A stream that keeps what is enqueued. Other threads may call what a capture forbids.
class Capture {
 public:
  explicit Capture(cudaStream_t stream) : stream_(stream) {
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "beginning a capture");
  }
  /// Out of a capture that went wrong, in whatever state it is.
  ~Capture() {
    if (is_ended_) return;
    cudaGraph_t dropped = nullptr;
    cudaStreamEndCapture(stream_, &dropped);
    if (dropped != nullptr) cudaGraphDestroy(dropped);
    static_cast<void>(cudaGetLastError());
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  cudaGraph_t end() {
    is_ended_ = true;
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream_, &graph), "ending a capture");
    return graph;
  }

 private:
  cudaStream_t stream_;
  bool is_ended_ = false;
};

}  // namespace

struct CapturedGraph::Captured {
  Captured(const Queue& queue, const std::function<void()>& work)
      : pool(static_cast<c10::DeviceIndex>(queue.device().index), native_stream(queue)) {
    Capture capture(native_stream(queue));
    work();
    const cudaGraph_t graph = capture.end();
    pool.close();
    const cudaError_t status = cudaGraphInstantiate(&executable, graph, 0);
    cudaGraphDestroy(graph);
    check(status, "making a captured graph ready");
  }
  ~Captured() { cudaGraphExecDestroy(executable); }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  Pool pool;
  cudaGraphExec_t executable = nullptr;
};

CapturedGraph::CapturedGraph(const Queue& queue, const std::function<void()>& work) {
  at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);  // the allocator does not ask
  const StreamGuard on_queue(queue);
  const std::unique_lock alone(captures());
  captured_ = std::make_unique<Captured>(queue, work);
}

CapturedGraph::~CapturedGraph() = default;

void CapturedGraph::replay(const Queue& queue) const {
  const StreamGuard on_queue(queue);
  const std::shared_lock together(captures());
  check(cudaGraphLaunch(captured_->executable, native_stream(queue)), "launching a captured graph");
}

}  // namespace tensoa::pytorch
