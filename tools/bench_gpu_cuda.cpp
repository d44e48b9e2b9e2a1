// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "bench_gpu.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::tools {
namespace {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  throw DeviceError(std::string("bench scaling: ") + what + ": " + cudaGetErrorString(status));
}

/// Makes a device the thread's current one, and puts back what was.
class CurrentDevice {
 public:
  explicit CurrentDevice(Device device) {
    check(cudaGetDevice(&before_), "asking for the current device");
    if (before_ == device.index) return;
    check(cudaSetDevice(device.index), "choosing a device");
    is_switched_ = true;
  }
  ~CurrentDevice() {
    if (is_switched_) cudaSetDevice(before_);
  }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_ = 0;
  bool is_switched_ = false;
};

cudaStream_t stream_of(const Queue& queue) {
  return static_cast<cudaStream_t>(queue.native_handle());
}

using Graph = std::shared_ptr<std::remove_pointer_t<cudaGraph_t>>;

/// What `call` enqueues, as a graph.
Graph record(const Queue& queue, const std::function<void()>& call) {
  check(cudaStreamBeginCapture(stream_of(queue), cudaStreamCaptureModeThreadLocal),
        "recording a queue");
  call();
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream_of(queue), &graph), "recording a queue");
  return {graph, cudaGraphDestroy};
}

/// In the language of the driver, which compiles it for the device that is there; so no compiler is
/// needed here.
constexpr const char* kEmptyKernel =
    ".version 7.0\n"
    ".target sm_80\n"
    ".address_size 64\n"
    ".visible .entry empty() { ret; }\n";

}  // namespace

std::size_t gpu_memory_used(Device device) {
  const CurrentDevice current(device);
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "asking for the memory of a device");
  return total - free;
}

std::size_t gpu_launches_of(const Queue& queue, const std::function<void()>& call) {
  const CurrentDevice current(queue.device());
  const Graph graph = record(queue, call);
  std::size_t nodes = 0;
  check(cudaGraphGetNodes(graph.get(), nullptr, &nodes), "counting launches");
  return nodes;
}

EmptyKernel::EmptyKernel() {
  cudaLibrary_t library = nullptr;
  check(cudaLibraryLoadData(&library, kEmptyKernel, nullptr, nullptr, 0, nullptr, nullptr, 0),
        "compiling an empty kernel");
  library_.reset(library,
                 [](void* loaded) { cudaLibraryUnload(static_cast<cudaLibrary_t>(loaded)); });
}

std::function<void()> EmptyKernel::call(const Queue& queue, std::size_t launches,
                                        bool in_graph) const {
  const CurrentDevice current(queue.device());
  cudaKernel_t kernel = nullptr;
  check(cudaLibraryGetKernel(&kernel, static_cast<cudaLibrary_t>(library_.get()), "empty"),
        "finding an empty kernel");
  const auto launch = [queue, launches, kernel, keep = library_] {
    const CurrentDevice on(queue.device());
    for (std::size_t i = 0; i < launches; ++i) {
      check(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(1), dim3(32), nullptr, 0,
                             stream_of(queue)),
            "launching an empty kernel");
    }
  };
  if (!in_graph) return launch;
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, record(queue, launch).get(), 0), "making a graph ready");
  const std::shared_ptr<std::remove_pointer_t<cudaGraphExec_t>> graph(executable,
                                                                      cudaGraphExecDestroy);
  return [queue, graph, keep = library_] {
    const CurrentDevice on(queue.device());
    check(cudaGraphLaunch(graph.get(), stream_of(queue)), "launching a graph");
  };
}

BlockedQueue::BlockedQueue(Queue queue) : queue_(std::move(queue)) {
  const CurrentDevice current(queue_.device());
  check(cudaLaunchHostFunc(
            stream_of(queue_), [](void* latch) { static_cast<std::latch*>(latch)->wait(); },
            &released_),
        "holding up a queue");
}

BlockedQueue::~BlockedQueue() {
  released_.count_down();
  cudaStreamSynchronize(stream_of(queue_));
}

}  // namespace tensoa::tools
