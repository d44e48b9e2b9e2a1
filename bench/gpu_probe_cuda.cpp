// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>

#include "bench/gpu_probe.hpp"
#include "tensoa/core/device_errors.hpp"
#include "tensoa/core/device_guard.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::bench {
namespace {

/// For calls under a DeviceGuard.
void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  int device = 0;
  static_cast<void>(cudaGetDevice(&device));
  tensoa::throw_gpu_error(Device::cuda(device), std::string("scaling: ") + what, status);
}

cudaStream_t stream_of(const Queue& queue) {
  return static_cast<cudaStream_t>(queue.native_handle());
}

using Graph = std::shared_ptr<std::remove_pointer_t<cudaGraph_t>>;

/// The work that `call` enqueues, as a graph.
Graph record(const Queue& queue, const std::function<void()>& call) {
  check(cudaStreamBeginCapture(stream_of(queue), cudaStreamCaptureModeThreadLocal),
        "recording a queue");
  call();
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream_of(queue), &graph), "recording a queue");
  return {graph, cudaGraphDestroy};
}

/// A function of the driver, which is not a library to link with. The runtime does not tell what
/// kernels of other libraries take.
template <class Function>
Function* driver(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_LAZY);
  void* const symbol = library == nullptr ? nullptr : dlsym(library, name);
  if (symbol == nullptr) {
    throw DeviceError(std::string("scaling: the CUDA driver has no ") + name +
                      "; it is older than that of CUDA 12.4");
  }
  return reinterpret_cast<Function*>(symbol);
}

/// Where the last parameter ends. `info` fails for the first that is not there.
template <class Kernel>
std::size_t parameter_bytes(CUresult (*info)(Kernel, std::size_t, std::size_t*, std::size_t*),
                            Kernel kernel) {
  std::size_t bytes = 0;
  std::size_t offset = 0;
  std::size_t size = 0;
  for (std::size_t i = 0; info(kernel, i, &offset, &size) == CUDA_SUCCESS; ++i) {
    bytes = std::max(bytes, offset + size);
  }
  return bytes;
}

GpuLaunch launch_of(cudaGraphNode_t node) {
  cudaGraphNodeType type{};
  check(cudaGraphNodeGetType(node, &type), "querying a launch");
  if (type != cudaGraphNodeTypeKernel) return {};
  CUDA_KERNEL_NODE_PARAMS_v2 kernel{};
  const CUresult status = driver<CUresult(CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v2*)>(
      "cuGraphKernelNodeGetParams_v2")(node, &kernel);
  if (status != CUDA_SUCCESS) {
    throw DeviceError("scaling: querying a launch: error " + std::to_string(status));
  }
  using OfFunction = CUresult(CUfunction, std::size_t, std::size_t*, std::size_t*);
  using OfKernel = CUresult(CUkernel, std::size_t, std::size_t*, std::size_t*);
  return {{kernel.gridDimX, kernel.gridDimY, kernel.gridDimZ},
          {kernel.blockDimX, kernel.blockDimY, kernel.blockDimZ},
          kernel.sharedMemBytes,
          kernel.func != nullptr
              ? parameter_bytes(driver<OfFunction>("cuFuncGetParamInfo"), kernel.func)
              : parameter_bytes(driver<OfKernel>("cuKernelGetParamInfo"), kernel.kern)};
}

std::string name_of_empty(const GpuLaunch& launch) {
  return "empty_" + std::to_string(launch.parameter_bytes);
}

/// In the language of the driver, which compiles it for the device that is there; so no compiler is
/// needed here.
std::string code_of(const std::vector<GpuLaunch>& launches) {
  std::string code = ".version 7.0\n.target sm_80\n.address_size 64\n";
  std::set<std::size_t> written;
  for (const GpuLaunch& launch : launches) {
    if (!written.insert(launch.parameter_bytes).second) continue;
    const std::string parameter =
        launch.parameter_bytes == 0
            ? ""
            : ".param .align 8 .b8 all[" + std::to_string(launch.parameter_bytes) + ']';
    code += ".visible .entry " + name_of_empty(launch) + '(' + parameter + ") { ret; }\n";
  }
  return code;
}

dim3 dimensions(const std::array<unsigned, 3>& sizes) { return {sizes[0], sizes[1], sizes[2]}; }

}  // namespace

std::vector<GpuLaunch> gpu_launches_of(const Queue& queue, const std::function<void()>& call) {
  const DeviceGuard current(queue);
  const Graph graph = record(queue, call);
  std::size_t count = 0;
  check(cudaGraphGetNodes(graph.get(), nullptr, &count), "counting launches");
  std::vector<cudaGraphNode_t> nodes(count);
  check(cudaGraphGetNodes(graph.get(), nodes.data(), &count), "querying launches");
  std::vector<GpuLaunch> launches(count);
  std::ranges::transform(nodes, launches.begin(), launch_of);
  return launches;
}

std::function<void()> in_one_graph(const Queue& queue, const std::function<void()>& call) {
  const DeviceGuard current(queue);
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, record(queue, call).get(), 0), "making a graph ready");
  const std::shared_ptr<std::remove_pointer_t<cudaGraphExec_t>> graph(executable,
                                                                      cudaGraphExecDestroy);
  return [keep = call, queue, graph] {
    const DeviceGuard on(queue);
    check(cudaGraphLaunch(graph.get(), stream_of(queue)), "launching a graph");
  };
}

EmptyKernels::EmptyKernels(std::vector<GpuLaunch> launches) : launches_(std::move(launches)) {
  cudaLibrary_t library = nullptr;
  check(cudaLibraryLoadData(&library, code_of(launches_).c_str(), nullptr, nullptr, 0, nullptr,
                            nullptr, 0),
        "compiling empty kernels");
  library_.reset(library,
                 [](void* loaded) { cudaLibraryUnload(static_cast<cudaLibrary_t>(loaded)); });
}

std::function<void()> EmptyKernels::call(const Queue& queue) const {
  const DeviceGuard current(queue);
  GpuLaunch most;  // of shared memory and parameters
  for (const GpuLaunch& launch : launches_) {
    most.shared_bytes = std::max(most.shared_bytes, launch.shared_bytes);
    most.parameter_bytes = std::max(most.parameter_bytes, launch.parameter_bytes);
  }
  std::vector<std::pair<GpuLaunch, cudaKernel_t>> kernels;
  for (const GpuLaunch& launch : launches_) {
    cudaKernel_t kernel = nullptr;
    check(cudaLibraryGetKernel(&kernel, static_cast<cudaLibrary_t>(library_.get()),
                               name_of_empty(launch).c_str()),
          "finding an empty kernel");
    check(
        cudaKernelSetAttributeForDevice(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(most.shared_bytes), queue.device().index),
        "giving shared memory to an empty kernel");
    kernels.emplace_back(launch, kernel);
  }
  const std::vector<std::byte> parameters(most.parameter_bytes);
  return [queue, kernels, parameters, keep = library_] {
    const DeviceGuard on(queue);
    void* arguments[] = {const_cast<std::byte*>(parameters.data())};
    for (const auto& [shape, kernel] : kernels) {
      check(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dimensions(shape.blocks),
                             dimensions(shape.threads), arguments, shape.shared_bytes,
                             stream_of(queue)),
            "launching an empty kernel");
    }
  };
}

BusyKernel::BusyKernel() {
  constexpr auto kCode = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry busy(.param .u64 time) {
  .reg .u64 %time, %begin, %now;
  .reg .pred %goes_on;
  ld.param.u64 %time, [time];
  mov.u64 %begin, %globaltimer;
again:
  mov.u64 %now, %globaltimer;
  sub.u64 %now, %now, %begin;
  setp.lt.u64 %goes_on, %now, %time;
  @%goes_on bra again;
  ret;
}
)";
  cudaLibrary_t library = nullptr;
  check(cudaLibraryLoadData(&library, kCode, nullptr, nullptr, 0, nullptr, nullptr, 0),
        "compiling a busy kernel");
  library_.reset(library,
                 [](void* loaded) { cudaLibraryUnload(static_cast<cudaLibrary_t>(loaded)); });
  cudaKernel_t kernel = nullptr;
  check(cudaLibraryGetKernel(&kernel, library, "busy"), "finding a busy kernel");
  kernel_ = kernel;
}

void BusyKernel::enqueue(const Queue& queue, std::chrono::nanoseconds time) const {
  const DeviceGuard on(queue);
  std::uint64_t count = static_cast<std::uint64_t>(time.count());
  void* arguments[] = {&count};
  check(cudaLaunchKernel(kernel_, dim3(1), dim3(32), arguments, 0, stream_of(queue)),
        "launching a busy kernel");
}

namespace {

using SettledCall = std::function<void(std::exception_ptr)>;

void make_call(void* call) {
  const std::unique_ptr<SettledCall> made(static_cast<SettledCall*>(call));
  (*made)(nullptr);
}

class HostFunctionWaiting final : public sched::Waiting {
 public:
  void when_settled(const Queue& queue, SettledCall call) override {
    if (queue.device().is_cpu()) return call(nullptr);
    const DeviceGuard on(queue);
    auto kept = std::make_unique<SettledCall>(std::move(call));
    check(cudaLaunchHostFunc(stream_of(queue), make_call, kept.get()), "enqueuing a host function");
    static_cast<void>(kept.release());
  }
};

class SpinningWaiting final : public sched::Waiting {
 public:
  using Launch = CUresult(CUstream, CUhostFn, void*, unsigned);
  explicit SpinningWaiting(Launch* launch) : launch_(launch) {}

  void when_settled(const Queue& queue, SettledCall call) override {
    constexpr unsigned kSpinWait = 1;
    if (queue.device().is_cpu()) return call(nullptr);
    const DeviceGuard on(queue);
    auto kept = std::make_unique<SettledCall>(std::move(call));
    const CUresult status = launch_(stream_of(queue), make_call, kept.get(), kSpinWait);
    check(static_cast<cudaError_t>(status), "enqueuing a host function");
    static_cast<void>(kept.release());
  }

 private:
  Launch* launch_;
};

}  // namespace

std::unique_ptr<sched::Waiting> wait_by(HostFunction function) {
  if (function == HostFunction::kBlocking) return std::make_unique<HostFunctionWaiting>();
  constexpr unsigned kVersion = 13020;
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  const cudaError_t status = cudaGetDriverEntryPointByVersion("cuLaunchHostFunc", &found, kVersion,
                                                              cudaEnableDefault, &result);
  int driver = 0;
  if (status != cudaSuccess || cudaDriverGetVersion(&driver) != cudaSuccess ||
      driver < static_cast<int>(kVersion)) {
    return nullptr;
  }
  return std::make_unique<SpinningWaiting>(reinterpret_cast<SpinningWaiting::Launch*>(found));
}

BlockedQueue::BlockedQueue(Queue queue) : queue_(std::move(queue)) {
  const DeviceGuard current(queue_);
  check(cudaLaunchHostFunc(
            stream_of(queue_), [](void* latch) { static_cast<std::latch*>(latch)->wait(); },
            &released_),
        "holding up a queue");
}

BlockedQueue::~BlockedQueue() {
  released_.count_down();
  cudaStreamSynchronize(stream_of(queue_));
}

}  // namespace tensoa::bench
