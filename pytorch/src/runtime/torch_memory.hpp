// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "tensoa/core/device.hpp"
#include "tensoa/core/memory_budget.hpp"
#include "tensoa/pytorch/runtime.hpp"

// Part of the GPU seam of pytorch/: the files *_cuda.cpp are linked, or *_none.cpp. The device itself is behind
// core/src/device_ops.hpp.

namespace tensoa::pytorch {

/// Whether torch has used a GPU.
bool torch_uses_gpus() noexcept;

/// set_torch_allocator, checked.
void replace_torch_allocator(TorchAllocator allocator);

void release_gpu_memory(Device device);
TorchMemory gpu_memory(Device device);
void reset_gpu_peak(Device device);

/// Weights of a model in torch's memory: counted in torch_memory() on a GPU, where they are part of
/// what torch holds; charged to the budget on the CPU, where nothing else counts them.
class WeightsInTorch {
 public:
  /// @throws DeviceFullError
  WeightsInTorch(Device device, std::size_t bytes);
  ~WeightsInTorch();
  WeightsInTorch(const WeightsInTorch&) = delete;
  WeightsInTorch& operator=(const WeightsInTorch&) = delete;

  Device device() const noexcept { return device_; }

  /// On a GPU.
  static std::size_t on(Device device) noexcept;

 private:
  Device device_;
  std::size_t bytes_;
  MemoryCharge charge_;
};

/// Keeps torch within memory_budget() while it works on `device`: it may take what tensoa does not
/// hold, and what it has taken is charged at the end. Once for each call and each load. Does nothing on
/// the CPU and, but for looking, without a budget.
class WithinBudget {
 public:
  explicit WithinBudget(Device device);
  ~WithinBudget();  // NOLINT(performance-trivially-destructible): of one implementation it is
  WithinBudget(const WithinBudget&) = delete;
  WithinBudget& operator=(const WithinBudget&) = delete;

 private:
  std::optional<Device> device_;  ///< with a budget
};

/// The last allocation of torch that failed in this thread, noted where it fails: TorchScript and the code of
/// packages turn it into other errors on the way to the caller. Each call begins with
/// forget_allocation_failure(), so that it does not report a failure from before, or from the program's own
/// use of torch.
void note_allocation_failure(std::string message);
void forget_allocation_failure() noexcept;

/// Throws a DeviceFullError that begins with `subject` if a failure was noted. Call it in a `catch` block.
void throw_if_allocation_failed(const std::string& subject);

}  // namespace tensoa::pytorch
