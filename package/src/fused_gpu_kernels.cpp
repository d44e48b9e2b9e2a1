// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "fused_gpu_kernels.hpp"

#include <algorithm>
#include <exception>
#include <string>

#include "tensoa/core/device_errors.hpp"
#include "tensoa/core/device_guard.hpp"

namespace tensoa::package {
namespace {

constexpr std::size_t kBufferAlignment = 256;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

}  // namespace

void check_cuda(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  int device = 0;
  static_cast<void>(cudaGetDevice(&device));
  throw_gpu_error(Device::cuda(device), what, status);
}

/// A cubin, loaded.
class GpuKernels::Code {
 public:
  explicit Code(const std::string& code) {  // aligned, as the driver expects
    check_cuda(
        cudaLibraryLoadData(&library_, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
        "loading its code");
  }
  ~Code() { cudaLibraryUnload(library_); }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  cudaKernel_t kernel(const std::string& name) const {
    cudaKernel_t kernel = nullptr;
    check_cuda(cudaLibraryGetKernel(&kernel, library_, name.c_str()),
               ("loading its kernel " + name).c_str());
    return kernel;
  }

 private:
  cudaLibrary_t library_ = nullptr;
};

GpuKernels::GpuKernels(const FusedKernels& plan, std::string_view code, std::string_view weights,
                       Device device)
    : plan_(plan), device_(device) {
  const DeviceGuard current(device);
  code_ = std::make_unique<Code>(std::string(code));
  weights_ = Buffer(device, weights.size(), MemoryPurpose::kWeights);
  for (const FusedKernels::Kernel& kernel : plan_.kernels) {
    functions_.push_back(code_->kernel(kernel.name));
    check_cuda(cudaKernelSetAttributeForDevice(functions_.back(),
                                               cudaFuncAttributeMaxDynamicSharedMemorySize,
                                               static_cast<int>(kernel.shared_bytes), device.index),
               ("giving shared memory to kernel " + kernel.name).c_str());
  }
  check_cuda(
      cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device.index),
      "querying the number of multiprocessors");
  int generation = 0;
  check_cuda(cudaDeviceGetAttribute(&generation, cudaDevAttrComputeCapabilityMajor, device.index),
             "querying its architecture");
  begins_early_ = plan_.waits && generation >= 9;
  check_cuda(cudaMemcpy(weights_.data(), weights.data(), weights.size(), cudaMemcpyHostToDevice),
             "copying its weights");
  // So that every stream finds them: the copy may end before the last bytes are there.
  check_cuda(cudaDeviceSynchronize(), "copying its weights");
}

GpuKernels::~GpuKernels() {
  try {
    const DeviceGuard current(device_);
    static_cast<void>(cudaDeviceSynchronize());
    static_cast<void>(cudaGetLastError());
  } catch (const std::exception&) {
    // The driver has stopped (the process ends), or the device is lost: nothing runs any more.
  }
}

GpuParams GpuKernels::params() const {
  GpuParams params(plan_.params);
  params.set_weights(weights_.data());
  return params;
}

std::size_t GpuKernels::bytes_of(const FusedKernels::Buffer& buffer,
                                 const GpuParams& params) const {
  return static_cast<std::size_t>(params.rows(buffer.domain)) * buffer.row_bytes;
}

std::size_t GpuKernels::workspace_bytes(const GpuParams& params) const {
  std::size_t bytes = kBufferAlignment;  // an address even where there are no rows
  for (const FusedKernels::Buffer& buffer : plan_.buffers)
    bytes += aligned(bytes_of(buffer, params));
  return bytes;
}

void GpuKernels::place_buffers(GpuParams& params, std::byte* workspace) const {
  for (std::size_t i = 0; i < plan_.buffers.size(); ++i) {
    params.set_buffer(i, workspace);
    workspace += aligned(bytes_of(plan_.buffers[i], params));
  }
}

GpuWork GpuKernels::work_of(const FusedKernels::Step& step, const GpuParams& params) const {
  GpuWork work{};
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

void GpuKernels::launch(const GpuParams& params, cudaStream_t stream) const {
  void* arguments[] = {params.data()};
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = begins_early_ ? 1 : 0;
  for (const FusedKernels::Step& step : plan_.steps) {
    const GpuWork work = work_of(step, params);
    if (work.is_nothing()) continue;
    if (work.kernel == nullptr) {
      check_cuda(cudaMemsetAsync(work.data, 0, work.bytes, stream), "setting memory to zero");
    } else {
      config.gridDim = dim3(work.blocks);
      config.blockDim = dim3(work.kernel->threads);
      config.dynamicSmemBytes = work.kernel->shared_bytes;
      check_cuda(
          cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(work.function), arguments),
          "launching a kernel");
    }
  }
}

}  // namespace tensoa::package
