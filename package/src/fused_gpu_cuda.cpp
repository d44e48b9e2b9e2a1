// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fused.hpp"
#include "tensoa/core/device_guard.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/impl/gpu_error.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/package/engines.hpp"
#include "tensoa/package/impl/per_queue.hpp"

namespace tensoa::package {
namespace {

/// What every kernel takes, by value: the struct of the code that the exporter writes, in words.
/// Its arrays, block, pitch, rows and buffer, are as long as the package says; then come the weights.
class Params {
  using Word = std::uint64_t;
  static_assert(sizeof(void*) == sizeof(Word));

 public:
  explicit Params(const FusedKernels::Params& lengths)
      : pitch_(lengths.blocks),
        rows_(2 * lengths.blocks),
        buffer_(rows_ + lengths.domains),
        weights_(buffer_ + lengths.buffers) {}

  void set_block(std::size_t i, const Planes& planes) noexcept {
    words_[i] = std::bit_cast<Word>(planes.first);
    words_[pitch_ + i] = static_cast<Word>(planes.pitch);
  }
  void set_rows(std::size_t domain, std::int64_t rows) noexcept {
    words_[rows_ + domain] = static_cast<Word>(rows);
  }
  void set_buffer(std::size_t i, std::byte* data) noexcept {
    words_[buffer_ + i] = std::bit_cast<Word>(data);
  }
  void set_weights(const std::byte* data) noexcept { words_[weights_] = std::bit_cast<Word>(data); }

  std::int64_t rows(std::size_t domain) const noexcept {
    return static_cast<std::int64_t>(words_[rows_ + domain]);
  }
  std::byte* buffer(std::size_t i) const noexcept {
    return std::bit_cast<std::byte*>(words_[buffer_ + i]);
  }
  void* data() const noexcept { return const_cast<Word*>(words_.data()); }

  /// Of the same package.
  bool operator==(const Params& other) const noexcept {
    return std::memcmp(words_.data(), other.words_.data(), (weights_ + 1) * sizeof(Word)) == 0;
  }

 private:
  static constexpr std::size_t kMostWords = 2 * kMaxGpuBlocks + kMaxGpuDomains + kMaxGpuBuffers + 1;

  std::size_t pitch_, rows_, buffer_, weights_;  ///< places in the words
  std::array<Word, kMostWords> words_{};
};

constexpr std::size_t kBufferAlignment = 256;

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  int device = 0;
  static_cast<void>(cudaGetDevice(&device));  // all calls here are under a DeviceGuard
  detail::throw_gpu_error(Device::cuda(device), what, status);
}

/// The kernels of a cubin, loaded.
class Library {
 public:
  explicit Library(const std::string& code) {
    check(cudaLibraryLoadData(&library_, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
          "loading its code");
  }
  ~Library() { cudaLibraryUnload(library_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  cudaKernel_t kernel(const std::string& name) const {
    cudaKernel_t kernel = nullptr;
    check(cudaLibraryGetKernel(&kernel, library_, name.c_str()),
          ("loading its kernel " + name).c_str());
    return kernel;
  }

 private:
  cudaLibrary_t library_ = nullptr;
};

/// One launch, or one memory set to zero. Nothing where there are no rows.
struct Work {
  const FusedKernels::Kernel* kernel;  ///< nullptr: zeros
  cudaKernel_t function;
  unsigned blocks;
  void* data;
  std::size_t bytes;

  bool is_nothing() const noexcept { return kernel != nullptr ? blocks == 0 : bytes == 0; }
};

cudaKernelNodeParams kernel_node(const Work& work, void** arguments) {
  cudaKernelNodeParams node{};
  node.func = reinterpret_cast<void*>(work.function);
  node.gridDim = dim3(std::max(work.blocks, 1U));
  node.blockDim = dim3(work.kernel->threads);
  node.sharedMemBytes = work.kernel->shared_bytes;
  node.kernelParams = arguments;
  return node;
}

cudaMemsetParams memset_node(const Work& work) {
  cudaMemsetParams node{};
  node.dst = work.data;
  node.elementSize = 1;
  node.width = std::max<std::size_t>(work.bytes, 1);
  node.height = 1;
  return node;
}

/// The work of a call as a graph: a chain with one node for each, those that have nothing to do are
/// switched off. Later calls change its nodes.
class Graph {
 public:
  Graph() = default;
  ~Graph() {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  /// @param work_of gives the Work of a step; the same wherever `params` are the same
  template <class WorkOf>
  void launch(std::size_t steps, const WorkOf& work_of, const Params& params, cudaStream_t stream) {
    if (told_ != params) {
      told_.reset();  // should a change fail
      void* arguments[] = {params.data()};
      if (executable_ == nullptr) make(steps, work_of, arguments);
      for (std::size_t i = 0; i < steps; ++i) change(i, work_of(i), arguments);
      told_ = params;
    }
    check(cudaGraphLaunch(executable_, stream), "launching a graph");
  }

 private:
  template <class WorkOf>
  void make(std::size_t steps, const WorkOf& work_of, void** arguments) {
    if (graph_ != nullptr) cudaGraphDestroy(std::exchange(graph_, nullptr));
    check(cudaGraphCreate(&graph_, 0), "making a graph");
    nodes_.clear();
    for (std::size_t i = 0; i < steps; ++i) {
      const Work step = work_of(i);
      const cudaGraphNode_t* const before = nodes_.empty() ? nullptr : &nodes_.back();
      const std::size_t dependencies = nodes_.empty() ? 0 : 1;
      cudaGraphNode_t node = nullptr;
      if (step.kernel != nullptr) {
        const cudaKernelNodeParams kernel = kernel_node(step, arguments);
        check(cudaGraphAddKernelNode(&node, graph_, before, dependencies, &kernel),
              "adding a kernel to a graph");
      } else {
        const cudaMemsetParams zeros = memset_node(step);
        check(cudaGraphAddMemsetNode(&node, graph_, before, dependencies, &zeros),
              "adding zeros to a graph");
      }
      nodes_.push_back(node);
    }
    check(cudaGraphInstantiate(&executable_, graph_, 0), "making a graph ready");
  }

  void change(std::size_t i, const Work& work, void** arguments) {
    check(cudaGraphNodeSetEnabled(executable_, nodes_[i], work.is_nothing() ? 0 : 1),
          "switching a part of a graph");
    if (work.is_nothing()) return;
    if (work.kernel != nullptr) {
      const cudaKernelNodeParams kernel = kernel_node(work, arguments);
      check(cudaGraphExecKernelNodeSetParams(executable_, nodes_[i], &kernel),
            "changing a kernel of a graph");
    } else {
      const cudaMemsetParams zeros = memset_node(work);
      check(cudaGraphExecMemsetNodeSetParams(executable_, nodes_[i], &zeros),
            "changing zeros of a graph");
    }
  }

  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
  std::vector<cudaGraphNode_t> nodes_;
  std::optional<Params> told_;
};

/// What the calls on one queue use, one after another. Memory only grows.
struct OfQueue {
  Buffer workspace;
  Graph graph;
};

/// Code and weights are there once for the device, memory between kernels once for each queue.
class FusedGpuProgram final : public Program {
 public:
  FusedGpuProgram(const Package& package, std::string_view code, Device device, bool with_graphs)
      : plan_(*package.manifest().fused->kernels),
        domains_(package.manifest().fused->domains),
        device_(device),
        with_graphs_(with_graphs),
        library_(load(code, device)) {
    const std::string_view weights = package.archive().file(plan_.weights);
    weights_ = Buffer(device, weights.size(), MemoryPurpose::kWeights);
    for (const auto* blocks :
         {&package.manifest().binding.inputs, &package.manifest().binding.outputs}) {
      for (const BlockDescription& block : *blocks) {
        element_sizes_.push_back(static_cast<std::int64_t>(block.element.element_size()));
      }
    }
    const DeviceGuard current(device);
    for (const FusedKernels::Kernel& kernel : plan_.kernels) {
      functions_.push_back(library_->kernel(kernel.name));
      check(cudaKernelSetAttributeForDevice(functions_.back(),
                                            cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(kernel.shared_bytes), device.index),
            ("giving shared memory to kernel " + kernel.name).c_str());
    }
    check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device.index),
          "asking for the number of multiprocessors");
    check(cudaMemcpy(weights_.data(), weights.data(), weights.size(), cudaMemcpyHostToDevice),
          "copying its weights");
    // So that every stream finds them: the copy may end before the last bytes are there.
    check(cudaDeviceSynchronize(), "copying its weights");
  }

  /// Waits for the device: what is enqueued needs the code.
  ~FusedGpuProgram() override {
    try {
      const DeviceGuard current(device_);
      static_cast<void>(cudaDeviceSynchronize());
      static_cast<void>(cudaGetLastError());
    } catch (const std::exception&) {
      // The driver has stopped (the process ends), or the device is lost: nothing runs any more.
    }
  }
  FusedGpuProgram(const FusedGpuProgram&) = delete;
  FusedGpuProgram& operator=(const FusedGpuProgram&) = delete;

  CopyReport run(const Queue& queue, std::span<const Planes> blocks) override {
    const DeviceGuard current(device_);
    const auto stream = static_cast<cudaStream_t>(queue.native_handle());
    const PerQueue<OfQueue>::Loan mine(queues_, queue, [] { return std::make_unique<OfQueue>(); });
    Params params(plan_.params);
    for (std::size_t i = 0; i < domains_.size(); ++i) params.set_rows(i, blocks[domains_[i]].rows);
    params.set_weights(weights_.data());
    const std::int64_t rows = params.rows(0);
    const std::int64_t at_once = plan_.rows_at_once > 0 ? plan_.rows_at_once : rows;
    if (rows > at_once) params.set_rows(0, at_once);
    place_buffers(params, mine->workspace);
    std::int64_t first = 0;
    do {
      if (rows > at_once) params.set_rows(0, std::min(at_once, rows - first));
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        Planes planes = blocks[i];
        planes.first += first * element_sizes_[i];
        params.set_block(i, planes);
      }
      launch(params, *mine, stream);
      first += at_once;
    } while (first < rows);
    return {};
  }

  std::int64_t most_rows() const noexcept override { return kMaxGpuRows; }

 private:
  void launch(const Params& params, OfQueue& mine, cudaStream_t stream) const {
    if (with_graphs_) {
      mine.graph.launch(
          plan_.steps.size(), [&](std::size_t i) { return work_of(plan_.steps[i], params); },
          params, stream);
      return;
    }
    void* arguments[] = {params.data()};
    for (const FusedKernels::Step& step : plan_.steps) {
      const Work work = work_of(step, params);
      if (work.is_nothing()) continue;
      if (work.kernel == nullptr) {
        check(cudaMemsetAsync(work.data, 0, work.bytes, stream), "setting memory to zero");
      } else {
        check(cudaLaunchKernel(reinterpret_cast<const void*>(work.function), dim3(work.blocks),
                               dim3(work.kernel->threads), arguments, work.kernel->shared_bytes,
                               stream),
              "launching a kernel");
      }
    }
  }

  static std::unique_ptr<Library> load(std::string_view code, Device device) {
    const DeviceGuard current(device);
    return std::make_unique<Library>(std::string(code));  // aligned, as the driver expects
  }

  std::size_t bytes_of(const FusedKernels::Buffer& buffer, const Params& params) const {
    return static_cast<std::size_t>(params.rows(buffer.domain)) * buffer.row_bytes;
  }

  /// Lays the buffers out for the rows of this call. More memory than before waits for the device, as
  /// what it replaces may be in use.
  void place_buffers(Params& params, Buffer& workspace) const {
    std::size_t bytes = kBufferAlignment;  // an address even where there are no rows
    for (const FusedKernels::Buffer& buffer : plan_.buffers) {
      bytes +=
          (bytes_of(buffer, params) + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    }
    if (bytes > workspace.size()) {
      workspace = Buffer(device_, bytes + bytes / 4, MemoryPurpose::kWorkspaces);
    }
    std::byte* next = workspace.data();
    for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
      params.set_buffer(i, next);
      next += (bytes_of(plan_.buffers[i], params) + kBufferAlignment - 1) / kBufferAlignment *
              kBufferAlignment;
    }
  }

  Work work_of(const FusedKernels::Step& step, const Params& params) const {
    Work work{};
    if (!step.kernel) {
      work.data = params.buffer(step.buffer);
      work.bytes = bytes_of(plan_.buffers[step.buffer], params);
      return work;
    }
    work.kernel = &plan_.kernels[*step.kernel];
    work.function = functions_[*step.kernel];
    const std::int64_t rows = params.rows(step.domain) * step.times;
    std::int64_t blocks = (rows + work.kernel->rows_per_block - 1) / work.kernel->rows_per_block;
    if (work.kernel->blocks_per_sm > 0) {
      blocks = std::min(blocks, work.kernel->blocks_per_sm * multiprocessors_);
    }
    constexpr std::int64_t kMostBlocks = 0x7FFF'FFFF;  // of a grid; kernels loop over the rest
    work.blocks = static_cast<unsigned>(std::min(blocks, kMostBlocks));
    return work;
  }

  FusedKernels plan_;
  std::vector<std::size_t> domains_;
  std::vector<std::int64_t> element_sizes_;  ///< of the numbers of each block
  Device device_;
  bool with_graphs_;
  std::unique_ptr<Library> library_;
  Buffer weights_;
  std::vector<cudaKernel_t> functions_;  ///< of the kernels
  int multiprocessors_ = 0;
  PerQueue<OfQueue> queues_;
};

}  // namespace

std::string gpu_architecture_of(Device device) {
  const DeviceGuard current(device);
  int major = 0;
  int minor = 0;
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device.index),
        "asking for its architecture");
  check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device.index),
        "asking for its architecture");
  return "sm_" + std::to_string(major) + std::to_string(minor);
}

std::unique_ptr<Program> make_fused_gpu_program(const Package& package, std::string_view code,
                                                Device device, bool with_graphs) {
  return std::make_unique<FusedGpuProgram>(package, code, device, with_graphs);
}

}  // namespace tensoa::package
