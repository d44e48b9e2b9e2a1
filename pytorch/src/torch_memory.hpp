// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "tensoa/core/device.hpp"
#include "tensoa/core/memory_budget.hpp"
#include "tensoa/pytorch/runtime.hpp"

// The second seam of pytorch/: one implementation is linked, torch_memory_cuda.cpp or torch_memory_none.cpp,
// as of core/src/device_ops.hpp. Devices are there.

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

/// What torch could not have in this thread, noted where that is known: on the way to the caller
/// TorchScript and the code of packages make other errors of it. Each call begins with
/// forget_refusal(): what was refused before, also to the program's own use of torch, is not its trouble.
void note_refusal(std::string message);
void forget_refusal() noexcept;

/// Ends with a DeviceFullError that begins with `subject` where a refusal was noted. For `catch`.
void throw_if_refused(const std::string& subject);

}  // namespace tensoa::pytorch
