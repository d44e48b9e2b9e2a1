// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fused.hpp"
#include "fused_gpu_kernels.hpp"
#include "tensoa/core/device_guard.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/package/engines.hpp"
#include "tensoa/package/impl/fused_gpu_part.hpp"
#include "tensoa/package/impl/per_queue.hpp"

namespace tensoa::package {
namespace {

cudaKernelNodeParams kernel_node(const GpuWork& work, void** arguments) {
  cudaKernelNodeParams node{};
  node.func = reinterpret_cast<void*>(work.function);
  node.gridDim = dim3(std::max(work.blocks, 1U));
  node.blockDim = dim3(work.kernel->threads);
  node.sharedMemBytes = work.kernel->shared_bytes;
  node.kernelParams = arguments;
  return node;
}

cudaMemsetParams memset_node(const GpuWork& work) {
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

  /// @param work_of gives the GpuWork of a step; the same wherever `params` are the same
  template <class WorkOf>
  void launch(std::size_t steps, const WorkOf& work_of, const GpuParams& params,
              cudaStream_t stream) {
    if (told_ != params) {
      told_.reset();  // should a change fail
      void* arguments[] = {params.data()};
      if (executable_ == nullptr) make(steps, work_of, arguments);
      for (std::size_t i = 0; i < steps; ++i) change(i, work_of(i), arguments);
      told_ = params;
    }
    check_cuda(cudaGraphLaunch(executable_, stream), "launching a graph");
  }

 private:
  template <class WorkOf>
  void make(std::size_t steps, const WorkOf& work_of, void** arguments) {
    if (graph_ != nullptr) cudaGraphDestroy(std::exchange(graph_, nullptr));
    check_cuda(cudaGraphCreate(&graph_, 0), "making a graph");
    nodes_.clear();
    for (std::size_t i = 0; i < steps; ++i) {
      const GpuWork step = work_of(i);
      const cudaGraphNode_t* const before = nodes_.empty() ? nullptr : &nodes_.back();
      const std::size_t dependencies = nodes_.empty() ? 0 : 1;
      cudaGraphNode_t node = nullptr;
      if (step.kernel != nullptr) {
        const cudaKernelNodeParams kernel = kernel_node(step, arguments);
        check_cuda(cudaGraphAddKernelNode(&node, graph_, before, dependencies, &kernel),
                   "adding a kernel to a graph");
      } else {
        const cudaMemsetParams zeros = memset_node(step);
        check_cuda(cudaGraphAddMemsetNode(&node, graph_, before, dependencies, &zeros),
                   "adding zeros to a graph");
      }
      nodes_.push_back(node);
    }
    check_cuda(cudaGraphInstantiate(&executable_, graph_, 0), "making a graph ready");
  }

  void change(std::size_t i, const GpuWork& work, void** arguments) {
    check_cuda(cudaGraphNodeSetEnabled(executable_, nodes_[i], work.is_nothing() ? 0 : 1),
               "switching a part of a graph");
    if (work.is_nothing()) return;
    if (work.kernel != nullptr) {
      const cudaKernelNodeParams kernel = kernel_node(work, arguments);
      check_cuda(cudaGraphExecKernelNodeSetParams(executable_, nodes_[i], &kernel),
                 "changing a kernel of a graph");
    } else {
      const cudaMemsetParams zeros = memset_node(work);
      check_cuda(cudaGraphExecMemsetNodeSetParams(executable_, nodes_[i], &zeros),
                 "changing zeros of a graph");
    }
  }

  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
  std::vector<cudaGraphNode_t> nodes_;
  std::optional<GpuParams> told_;
};

/// Memory of the calls on one queue, one after another. Memory only grows.
struct OfQueue {
  Buffer workspace;
  Graph graph;
};

/// Memory between kernels is there once for each queue.
class FusedGpuProgram final : public Program {
 public:
  FusedGpuProgram(const Package& package, const FusedDescription& fused, std::string_view code,
                  Device device, bool with_graphs)
      : kernels_(*fused.kernels, code, package.archive().file(fused.kernels->weights), device),
        domains_(fused.domains),
        with_graphs_(with_graphs) {
    for (const auto* blocks :
         {&package.manifest().binding.inputs, &package.manifest().binding.outputs}) {
      for (const BlockDescription& block : *blocks) {
        element_sizes_.push_back(static_cast<std::int64_t>(block.element.element_size()));
      }
    }
  }

  CopyReport run(const Queue& queue, std::span<const BlockMemory> blocks) override {
    const DeviceGuard current(kernels_.device());
    const auto stream = static_cast<cudaStream_t>(queue.native_handle());
    const PerQueue<OfQueue>::Loan mine(queues_, queue, [] { return std::make_unique<OfQueue>(); });
    GpuParams params = kernels_.params();
    for (std::size_t i = 0; i < domains_.size(); ++i) params.set_rows(i, blocks[domains_[i]].rows);
    const std::int64_t rows = params.rows(0);
    const std::int64_t most = kernels_.plan().rows_at_once;
    const std::int64_t at_once = most > 0 ? std::min(most, rows) : rows;
    params.set_rows(0, at_once);
    // More memory than before waits for the device, as what it replaces may be in use.
    const std::size_t bytes = kernels_.workspace_bytes(params);
    if (bytes > mine->workspace.size()) {
      mine->workspace = Buffer(kernels_.device(), bytes + bytes / 4, MemoryPurpose::kWorkspaces);
    }
    kernels_.place_buffers(params, mine->workspace.data());
    std::int64_t first = 0;
    do {
      params.set_rows(0, std::min(at_once, rows - first));
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        params.set_block(i, {blocks[i].first + first * element_sizes_[i], blocks[i].pitch});
      }
      launch(params, *mine, stream);
      first += at_once;
    } while (first < rows);
    return {};
  }

  /// The call's own graph cannot be launched into a recording.
  bool can_be_recorded() const noexcept override { return !with_graphs_; }

  std::int64_t most_rows() const noexcept override { return kMaxGpuRows; }

 private:
  void launch(const GpuParams& params, OfQueue& mine, cudaStream_t stream) const {
    if (!with_graphs_) return kernels_.launch(params, stream);
    const auto& steps = kernels_.plan().steps;
    mine.graph.launch(
        steps.size(), [&](std::size_t i) { return kernels_.work_of(steps[i], params); }, params,
        stream);
  }

  GpuKernels kernels_;
  std::vector<std::size_t> domains_;
  std::vector<std::int64_t> element_sizes_;  ///< of the numbers of each block
  bool with_graphs_;
  PerQueue<OfQueue> queues_;
};

/// Runs in the memory that each call passes, so that calls on any number of streams share it.
class LoadedPart final : public FusedGpuPart {
 public:
  LoadedPart(const Package& package, const FusedPart& part, std::string_view code, Device device)
      : kernels_(*part.kernels, code, package.archive().file(part.kernels->weights), device),
        blocks_(part.inputs + part.outputs.size()),
        domains_(part.domains.size()) {}

  std::size_t workspace_bytes(const std::int64_t* rows) const override {
    return kernels_.workspace_bytes(with_rows(rows));
  }

  void run(void* stream, const FusedBlock* blocks, const std::int64_t* rows,
           std::byte* workspace) const override {
    const DeviceGuard current(kernels_.device());
    GpuParams params = with_rows(rows);
    kernels_.place_buffers(params, workspace);
    for (std::size_t i = 0; i < blocks_; ++i) params.set_block(i, blocks[i]);
    kernels_.launch(params, static_cast<cudaStream_t>(stream));
  }

 private:
  GpuParams with_rows(const std::int64_t* rows) const {
    GpuParams params = kernels_.params();
    for (std::size_t i = 0; i < domains_; ++i) params.set_rows(i, rows[i]);
    return params;
  }

  GpuKernels kernels_;
  std::size_t blocks_, domains_;
};

}  // namespace

std::string gpu_architecture_of(Device device) {
  const DeviceGuard current(device);
  int major = 0;
  int minor = 0;
  check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device.index),
             "querying its architecture");
  check_cuda(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device.index),
             "querying its architecture");
  return "sm_" + std::to_string(major) + std::to_string(minor);
}

std::unique_ptr<Program> make_fused_gpu_program(const Package& package,
                                                const FusedDescription& fused,
                                                std::string_view code, Device device,
                                                bool with_graphs) {
  return std::make_unique<FusedGpuProgram>(package, fused, code, device, with_graphs);
}

std::unique_ptr<FusedGpuPart> load_fused_gpu_part(const Package& package, const FusedPart& part,
                                                  Device device) {
  const std::string_view code =
      code_for(package, part.programs, device, gpu_architecture_of(device));
  return std::make_unique<LoadedPart>(package, part, code, device);
}

}  // namespace tensoa::package
