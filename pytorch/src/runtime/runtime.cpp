// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/pytorch/runtime.hpp"

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "runtime/tensors.hpp"
#include "runtime/torch_memory.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory_budget.hpp"

namespace tensoa::pytorch {
namespace {

/// Is notified of each block that torch takes or gives back in this thread.
class TensorsWatch final : public c10::MemoryReportingInfoBase {
 public:
  explicit TensorsWatch(Device device) : device_(to_torch(device)) {}

  void reportMemoryUsage(void* data, std::int64_t bytes, std::size_t /*total*/,
                         std::size_t /*reserved*/, c10::Device device) override {
    if (device != device_) return;
    if (bytes > 0) {
      blocks_[data] = bytes;
      now_ += bytes;
      most_ = std::max(most_, now_);
    } else if (const auto block = blocks_.extract(data)) {  // those from before are not counted
      now_ -= block.mapped();
    }
  }

  bool memoryProfilingEnabled() const override { return true; }

  std::size_t most() const noexcept { return static_cast<std::size_t>(most_); }

 private:
  c10::Device device_;
  std::unordered_map<void*, std::int64_t> blocks_;
  std::int64_t now_ = 0;
  std::int64_t most_ = 0;
};

thread_local std::string t_allocation_failure;  // empty: none

std::atomic<std::size_t>& weights_on(Device device) noexcept {
  static constinit std::array<std::atomic<std::size_t>, kMaxDevices> weights{};
  return weights[place_of(device)];
}

}  // namespace

WeightsInTorch::WeightsInTorch(Device device, std::size_t bytes) : device_(device), bytes_(bytes) {
  if (device.is_cpu()) charge_ = MemoryCharge(device, MemoryPurpose::kWeights, bytes);
  weights_on(device_) += bytes_;
}

WeightsInTorch::~WeightsInTorch() { weights_on(device_) -= bytes_; }

std::size_t WeightsInTorch::on(Device device) noexcept { return weights_on(device); }

void note_allocation_failure(std::string message) { t_allocation_failure = std::move(message); }

void forget_allocation_failure() noexcept { t_allocation_failure.clear(); }

void throw_if_allocation_failed(const std::string& subject) {
  if (!t_allocation_failure.empty())
    throw DeviceFullError(subject + std::exchange(t_allocation_failure, {}));
}

void set_torch_allocator(TorchAllocator allocator) {
  if (!allocator.allocate || !allocator.free) {
    throw ConfigError(std::string("set_torch_allocator: there is no function to ") +
                      (allocator.allocate ? "free" : "allocate") + "; give both");
  }
  replace_torch_allocator(std::move(allocator));
}

void release_unused(Device device) {
  require_available(device);
  if (device.is_cpu()) {
    ::malloc_trim(0);
  } else {
    release_gpu_memory(device);
  }
}

TorchMemory torch_memory(Device device) {
  require_available(device);
  return device.is_cpu() ? TorchMemory{} : gpu_memory(device);
}

void reset_torch_peak(Device device) {
  require_available(device);
  if (!device.is_cpu()) reset_gpu_peak(device);
}

ModelMemory model_memory(Device device) {
  const MemoryFigures ours = memory_figures(device);
  const TorchMemory torch = torch_memory(device);
  const auto of = [&](MemoryPurpose purpose) { return ours.of(purpose); };
  const std::size_t kept = torch.weights + torch.workspaces;
  ModelMemory all{.weights = of(MemoryPurpose::kWeights).now + torch.weights,
                  .workspaces = of(MemoryPurpose::kWorkspaces).now + torch.workspaces,
                  .activations = torch.peak > kept ? torch.peak - kept : 0,
                  .collections = of(MemoryPurpose::kCollections).now,
                  .peak = torch.peak,
                  .budget = ours.budget};
  for (const MemoryPurpose purpose : {MemoryPurpose::kCollections, MemoryPurpose::kWeights,
                                      MemoryPurpose::kWorkspaces, MemoryPurpose::kPinned}) {
    all.peak += of(purpose).peak;
  }
  return all;
}

std::size_t activations_of(Device device, const std::function<void()>& call) {
  require_available(device);
  const auto watch = std::make_shared<TensorsWatch>(device);
  const c10::DebugInfoGuard watching(c10::DebugInfoKind::PROFILER_STATE, watch);
  call();
  return watch->most();
}

}  // namespace tensoa::pytorch
