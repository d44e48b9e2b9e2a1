// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "tensoa/package/impl/fused_library.hpp"
#include "tensoa/package/package.hpp"

namespace tensoa::package {

/// A fused part of TorchInductor's program, loaded on a GPU.
/// *Lifetime*: the destructor waits for the device.
/// *Threads*: const members may be called from any number of threads.
class FusedGpuPart {
 public:
  FusedGpuPart() = default;
  virtual ~FusedGpuPart() = default;
  FusedGpuPart(const FusedGpuPart&) = delete;
  FusedGpuPart& operator=(const FusedGpuPart&) = delete;

  /// Bytes of memory that a call uses between its kernels. @param rows of each domain
  virtual std::size_t workspace_bytes(const std::int64_t* rows) const = 0;

  /// Enqueues the kernels on `stream`, a `cudaStream_t` of the device.
  /// @param blocks inputs, then outputs
  /// @param rows of each domain
  /// @param workspace on the device, aligned to 256 bytes, kept until the stream has passed the call
  /// @throws DeviceError
  virtual void run(void* stream, const FusedBlock* blocks, const std::int64_t* rows,
                   std::byte* workspace) const = 0;
};

/// @throws LoadError where no code of the part is for `device`, and in a build without CUDA; DeviceError
std::unique_ptr<FusedGpuPart> load_fused_gpu_part(const Package& package, const FusedPart& part,
                                                  Device device);

}  // namespace tensoa::package
