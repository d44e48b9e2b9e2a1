// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include "recorded_work.hpp"
#include "tensoa/core/device_errors.hpp"
#include "tensoa/core/device_guard.hpp"

namespace tensoa::events {
namespace {

void check(cudaError_t status, Device device, const char* what) {
  if (status != cudaSuccess) tensoa::throw_gpu_error(device, what, status);
}

cudaStream_t stream_of(const Queue& queue) {
  return static_cast<cudaStream_t>(queue.native_handle());
}

/// Between its beginning and its end the stream keeps what it is given. Other threads may do meanwhile what a
/// recording forbids.
class Capture {
 public:
  explicit Capture(const Queue& queue) : queue_(queue) {
    check(cudaStreamBeginCapture(stream_of(queue_), cudaStreamCaptureModeThreadLocal),
          queue_.device(), "beginning to record work");
  }
  ~Capture() {
    if (has_ended_) return;
    cudaGraph_t dropped = nullptr;
    cudaStreamEndCapture(stream_of(queue_), &dropped);
    if (dropped != nullptr) cudaGraphDestroy(dropped);
    static_cast<void>(cudaGetLastError());
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  cudaGraph_t end() {
    has_ended_ = true;
    cudaGraph_t graph = nullptr;
    check(cudaStreamEndCapture(stream_of(queue_), &graph), queue_.device(), "recording work");
    return graph;
  }

 private:
  const Queue& queue_;
  bool has_ended_ = false;
};

}  // namespace

struct RecordedWork::Graph {
  Graph() = default;
  ~Graph() {
    if (executable != nullptr) cudaGraphExecDestroy(executable);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  cudaGraphExec_t executable = nullptr;
};

bool RecordedWork::is_supported(Device device) noexcept { return !device.is_cpu(); }

RecordedWork::RecordedWork(const Queue& queue, const std::function<void()>& work)
    : graph_(std::make_unique<Graph>()) {
  const DeviceGuard current(queue);
  Capture capture(queue);
  work();
  const cudaGraph_t recorded = capture.end();
  const cudaError_t status = cudaGraphInstantiate(&graph_->executable, recorded, 0);
  cudaGraphDestroy(recorded);
  check(status, queue.device(), "making recorded work ready");
}
RecordedWork::~RecordedWork() = default;
RecordedWork::RecordedWork(RecordedWork&&) noexcept = default;
RecordedWork& RecordedWork::operator=(RecordedWork&&) noexcept = default;

void RecordedWork::enqueue(const Queue& queue) const {
  const DeviceGuard current(queue);
  check(cudaGraphLaunch(graph_->executable, stream_of(queue)), queue.device(),
        "launching recorded work");
}

}  // namespace tensoa::events
