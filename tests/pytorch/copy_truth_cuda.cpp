// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "copy_truth.hpp"
#include "strided.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa {
namespace {

void check(cudaError_t status, const std::string& what) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());
  throw DeviceError(what + ": " + cudaGetErrorString(status));
}

/// A function of the driver, which is not a library to link with. The runtime has only the kernels
/// that it has registered itself, not those of cuBLAS.
template <class Function>
Function* driver(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_LAZY);
  void* const symbol = library == nullptr ? nullptr : dlsym(library, name);
  if (symbol == nullptr) throw DeviceError("the CUDA driver has no " + std::string(name));
  return reinterpret_cast<Function*>(symbol);
}

struct Kernel {
  std::string name;
  const void* first_argument;
  unsigned grid_rows;
};

Kernel kernel_of(cudaGraphNode_t node) {
  CUDA_KERNEL_NODE_PARAMS_v2 parameters{};
  const char* name = nullptr;
  CUresult status = driver<CUresult(CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v2*)>(
      "cuGraphKernelNodeGetParams_v2")(node, &parameters);
  if (status == CUDA_SUCCESS) {
    status =
        parameters.func != nullptr
            ? driver<CUresult(const char**, CUfunction)>("cuFuncGetName")(&name, parameters.func)
            : driver<CUresult(const char**, CUkernel)>("cuKernelGetName")(&name, parameters.kern);
  }
  if (status != CUDA_SUCCESS)
    throw DeviceError("querying a kernel of a graph: error " + std::to_string(status));
  return {name, parameters.kernelParams == nullptr ? nullptr : parameters.kernelParams[0],
          parameters.gridDimY};
}

/// Torch's kernels that copy: direct_copy_kernel_cuda (any strides, and conversions), CatArray…Copy; and
/// the library's copy_elements and copy_tensors.
bool is_copy(const std::string& kernel) {
  return kernel.find("copy") != std::string::npos || kernel.find("Copy") != std::string::npos;
}

/// Torch's elementwise kernels take the number of elements first, and so does the library's copy_elements.
std::size_t elements_of(const Kernel& kernel) {
  if (kernel.name.find("copy_tensors") != std::string::npos && kernel.first_argument != nullptr) {
    const auto& copies = *static_cast<const detail::CopiesOfKernel*>(kernel.first_argument);
    std::int64_t elements = 0;
    for (unsigned copy = 0; copy < kernel.grid_rows; ++copy) elements += copies[copy].elements();
    return static_cast<std::size_t>(elements);
  }
  if (kernel.name.find("copy_elements") != std::string::npos && kernel.first_argument != nullptr) {
    return static_cast<std::size_t>(*static_cast<const std::int64_t*>(kernel.first_argument));
  }
  if (kernel.name.find("elementwise_kernel") == std::string::npos ||
      kernel.first_argument == nullptr) {
    throw DeviceError("cannot tell how much is copied by " + kernel.name);
  }
  return static_cast<std::size_t>(*static_cast<const int*>(kernel.first_argument));
}

void add(SeenOnQueue& seen, cudaGraphNode_t node, std::size_t element_size) {
  cudaGraphNodeType type{};
  check(cudaGraphNodeGetType(node, &type), "querying the type of a node");
  if (type == cudaGraphNodeTypeKernel) {
    const Kernel kernel = kernel_of(node);
    seen.story += "  kernel " + kernel.name;
    if (is_copy(kernel.name)) {
      const std::size_t bytes = elements_of(kernel) * element_size;
      seen.copied += bytes;
      seen.story += ", copies " + std::to_string(bytes) + " bytes";
    }
  } else if (type == cudaGraphNodeTypeMemcpy) {
    cudaMemcpy3DParms copy{};
    check(cudaGraphMemcpyNodeGetParams(node, &copy), "querying the size of a copy");
    const std::size_t bytes = copy.extent.width * copy.extent.height * copy.extent.depth;
    seen.copied += bytes;
    seen.story += "  memcpy of " + std::to_string(bytes) + " bytes";
  } else if (type == cudaGraphNodeTypeMemAlloc || type == cudaGraphNodeTypeMemFree) {
    ++seen.allocations;
    seen.story += "  allocation";
  } else {
    seen.story += "  node of type " + std::to_string(type);
  }
  seen.story += "\n";
}

}  // namespace

SeenOnQueue watch_queue(const Queue& queue, std::size_t element_size,
                        const std::function<void()>& call) {
  const auto stream = static_cast<cudaStream_t>(queue.native_handle());
  const c10::cuda::CUDAStreamGuard on_queue(c10::cuda::getStreamFromExternal(
      stream, static_cast<c10::DeviceIndex>(queue.device().index)));
  for (int warm_up = 0; warm_up < 2; ++warm_up) call();
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "beginning a capture");
  cudaGraph_t captured = nullptr;
  try {
    call();
  } catch (...) {
    static_cast<void>(cudaStreamEndCapture(stream, &captured));
    static_cast<void>(cudaGetLastError());
    throw;
  }
  check(cudaStreamEndCapture(stream, &captured), "ending a capture");
  const std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, decltype(&cudaGraphDestroy)> graph(
      captured, &cudaGraphDestroy);

  std::size_t count = 0;
  check(cudaGraphGetNodes(graph.get(), nullptr, &count), "counting the nodes");
  std::vector<cudaGraphNode_t> nodes(count);
  check(cudaGraphGetNodes(graph.get(), nodes.data(), &count), "listing the nodes");
  SeenOnQueue seen;
  for (const cudaGraphNode_t node : nodes) add(seen, node, element_size);
  return seen;
}

}  // namespace tensoa
