// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tensoa/core/memory.hpp"
#include "tensoa/package/impl/fused_library.hpp"
#include "tensoa/package/manifest.hpp"

namespace tensoa::package {

/// The parameter of every kernel, by value: the struct of the code that the exporter writes, in words.
/// Its arrays, block, pitch, rows and buffer, are as long as the package says; then come the weights.
class GpuParams {
  using Word = std::uint64_t;
  static_assert(sizeof(void*) == sizeof(Word));

 public:
  explicit GpuParams(const FusedKernels::Params& lengths)
      : pitch_(lengths.blocks),
        rows_(2 * lengths.blocks),
        buffer_(rows_ + lengths.domains),
        weights_(buffer_ + lengths.buffers) {}

  void set_block(std::size_t i, const FusedBlock& block) noexcept {
    words_[i] = std::bit_cast<Word>(block.data);
    words_[pitch_ + i] = static_cast<Word>(block.pitch);
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
  bool operator==(const GpuParams& other) const noexcept {
    return std::memcmp(words_.data(), other.words_.data(), (weights_ + 1) * sizeof(Word)) == 0;
  }

 private:
  static constexpr std::size_t kMostWords = 2 * kMaxGpuBlocks + kMaxGpuDomains + kMaxGpuBuffers + 1;

  std::size_t pitch_, rows_, buffer_, weights_;  ///< places in the words
  std::array<Word, kMostWords> words_{};
};

/// One launch, or one memory set to zero. Nothing where there are no rows.
struct GpuWork {
  const FusedKernels::Kernel* kernel;  ///< nullptr: zeros
  cudaKernel_t function;
  unsigned blocks;
  void* data;
  std::size_t bytes;

  bool is_nothing() const noexcept { return kernel != nullptr ? blocks == 0 : bytes == 0; }
};

/// @throws DeviceError for any other result than success, with the text `what`. To be called under a DeviceGuard.
void check_cuda(cudaError_t status, const char* what);

/// The kernels of a fused program on one GPU: code and weights are there once for all calls.
/// *Threads*: const members may be called from any number of threads, under a DeviceGuard.
class GpuKernels {
 public:
  /// @throws DeviceError
  GpuKernels(const FusedKernels& plan, std::string_view code, std::string_view weights,
             Device device);
  /// Waits for the device: what is enqueued needs the code.
  ~GpuKernels();
  GpuKernels(const GpuKernels&) = delete;
  GpuKernels& operator=(const GpuKernels&) = delete;

  const FusedKernels& plan() const noexcept { return plan_; }
  Device device() const noexcept { return device_; }

  /// With the weights, without blocks, rows and buffers.
  GpuParams params() const;

  /// Bytes that place_buffers() needs for the rows of `params`.
  std::size_t workspace_bytes(const GpuParams& params) const;

  /// Lays the buffers out for the rows of `params`.
  void place_buffers(GpuParams& params, std::byte* workspace) const;

  GpuWork work_of(const FusedKernels::Step& step, const GpuParams& params) const;

  /// Enqueues all steps. @throws DeviceError
  void launch(const GpuParams& params, cudaStream_t stream) const;

 private:
  class Code;

  std::size_t bytes_of(const FusedKernels::Buffer& buffer, const GpuParams& params) const;

  FusedKernels plan_;
  Device device_;
  std::unique_ptr<Code> code_;
  Buffer weights_;
  std::vector<cudaKernel_t> functions_;  ///< of the kernels
  int multiprocessors_ = 0;
  bool begins_early_ = false;  ///< kernels are launched before the work before them has ended
};

}  // namespace tensoa::package
