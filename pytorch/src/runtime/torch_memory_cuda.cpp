// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <ATen/Context.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <torch/csrc/cuda/CUDAPluggableAllocator.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "runtime/memory_bridge.hpp"
#include "runtime/stream_guard.hpp"
#include "runtime/torch_memory.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/log.hpp"

namespace tensoa::pytorch {
namespace {

namespace caching = c10::cuda::CUDACachingAllocator;
using torch::cuda::CUDAPluggableAllocator::CUDAPluggableAllocator;

c10::DeviceIndex index_of(Device device) { return static_cast<c10::DeviceIndex>(device.index); }

/// The caller's allocator as torch wants to see it.
class BridgedAllocator final : public CUDAPluggableAllocator {
 public:
  explicit BridgedAllocator(const std::shared_ptr<MemoryBridge>& bridge)
      : CUDAPluggableAllocator(
            [bridge](std::size_t bytes, int device, cudaStream_t stream) {
              try {
                return bridge->allocate(bytes, Device::cuda(device), stream);
              } catch (const Error& error) {
                note_allocation_failure(error.what());
                throw;
              }
            },
            [bridge](void* data, std::size_t, int, cudaStream_t) { bridge->free(data); }),
        bridge_(bridge) {
    set_record_stream_fn([bridge](void* data, cudaStream_t) { bridge->record(data); });
  }

  void raw_delete(void* data) override {
    if (data != nullptr) CUDAPluggableAllocator::raw_delete(data);  // a block of 0 bytes
  }

  /// A graph replays with the addresses of its capture, which the caller's allocator would give away.
  void beginAllocateToPool(c10::DeviceIndex, c10::MempoolId_t,
                           std::function<bool(cudaStream_t)>) override {
    throw ConfigError(
        "torch's memory comes from set_torch_allocator(), with which torch's work cannot be "
        "captured "
        "as a CUDA graph");
  }

  caching::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    const TorchMemory figures = bridge_->figures(Device::cuda(device));
    caching::DeviceStats stats;
    c10::CachingAllocator::Stat& in_use = stats.allocated_bytes[0];  // of all sizes
    in_use.current = static_cast<std::int64_t>(figures.in_use);
    in_use.peak = static_cast<std::int64_t>(figures.peak);
    stats.reserved_bytes[0] = in_use;
    return stats;
  }

  void resetPeakStats(c10::DeviceIndex device) override {
    bridge_->reset_peak(Device::cuda(device));
  }

 private:
  std::shared_ptr<MemoryBridge> bridge_;
};

std::atomic<bool> is_bridged{false};

/// Memory that torch's own allocator has taken from a device, and its limit.
class Share {
 public:
  /// Limits torch to the rest of the budget that others leave; removes the limit where no budget is set.
  void limit(Device device) {
    const std::lock_guard lock(mutex_);
    const MemoryFigures figures = memory_figures(device);
    const std::size_t others = figures.all.now - charge_.bytes();
    const std::size_t left = figures.budget > others ? figures.budget - others : 0;
    if (total_ == 0) {
      at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
      total_ = device_memory(device).total;
    }
    const std::size_t limit = figures.budget == kNoBudget ? kNoBudget : std::min(left, total_);
    if (limit == limit_) return;
    caching::setMemoryFraction(
        static_cast<double>(std::min(limit, total_)) / static_cast<double>(total_),
        index_of(device));
    limit_ = limit;
  }

  /// Without a limit nothing.
  void charge(Device device) {
    const std::lock_guard lock(mutex_);
    const auto held = is_limited()
                          ? static_cast<std::size_t>(
                                caching::getDeviceStats(index_of(device)).reserved_bytes[0].current)
                          : 0;
    if (charge_.device() != device) charge_ = MemoryCharge(device, MemoryPurpose::kEngines, 0);
    charge_.set_bytes(held);  // more than the budget where that was lowered, or others were faster
  }

  bool is_limited() const noexcept { return limit_.load(std::memory_order_relaxed) != kNoBudget; }

 private:
  std::mutex mutex_;
  std::size_t total_ = 0;
  std::atomic<std::size_t> limit_{kNoBudget};
  MemoryCharge charge_;
};

Share& share_of(Device device) {
  static std::array<Share, kMaxDevices> shares;
  return shares[place_of(device)];
}

/// Torch calls the observer before it throws.
void observe_allocation_failures() {
  static std::once_flag once;
  std::call_once(once, [] {
    at::globalContext().lazyInitDevice(c10::DeviceType::CUDA);
    caching::get()->attachOutOfMemoryObserver(
        [](std::int64_t index, std::size_t asked, std::size_t /*total*/, std::size_t free) {
          const Device device = Device::cuda(static_cast<int>(index));
          const auto held = caching::getDeviceStats(index_of(device)).reserved_bytes[0].current;
          const MemoryFigures figures = memory_figures(device);
          const std::string budget = figures.budget == kNoBudget
                                         ? "there is no budget"
                                         : "the budget is " + std::to_string(figures.budget);
          note_allocation_failure(
              "torch requested " + std::to_string(asked) + " bytes on " + to_string(device) + ": " +
              budget + ", in use are " + std::to_string(figures.all.now) + " (torch holds " +
              std::to_string(held) + "), free on the device are " + std::to_string(free) +
              "; free some, use smaller batches, or raise memory_budget()");
        });
  });
}

/// @param size_of_each is asked only where torch (before 2.15) does not keep the size of each workspace,
/// and only where there are some: torch keeps its first answer
std::size_t bytes_of(at::cuda::WorkspaceMapWithMutex& workspaces, std::size_t (*size_of_each)(),
                     Device device) {
  const auto bytes_on_device = [=](const auto& workspace) {
    const auto size = [=](const c10::DataPtr& memory, const auto& bytes) {
      return memory.device().index() == index_of(device) ? bytes() : std::size_t{0};
    };
    if constexpr (requires { workspace.first; }) {
      return size(workspace.first, [&] { return workspace.second; });
    } else {
      return size(workspace, size_of_each);
    }
  };
  const std::shared_lock lock(workspaces.mutex);
  std::size_t bytes = 0;
  for (const auto& entry : workspaces.map) bytes += bytes_on_device(entry.second);
  return bytes;
}

}  // namespace

bool torch_uses_gpus() noexcept { return caching::get()->initialized(); }

void replace_torch_allocator(TorchAllocator allocator) {
  static std::mutex one_change;
  const std::lock_guard lock(one_change);
  if (is_bridged)
    throw ConfigError("set_torch_allocator: torch has been given an allocator already");
  if (caching::get()->initialized()) {
    throw ConfigError(
        "set_torch_allocator: torch has used a GPU already, with its own allocator; call it "
        "before the first model is loaded there");
  }
  const auto bridge =
      std::make_shared<MemoryBridge>(std::move(allocator), StreamGuard::current, wait_for_device);
  torch::cuda::CUDAPluggableAllocator::changeCurrentAllocator(
      std::make_shared<BridgedAllocator>(bridge));
  is_bridged = true;
}

void release_gpu_memory(Device device) {
  if (!torch_uses_gpus()) return;
  wait_for_device(device);
  at::cuda::clearCublasWorkspaces();
  if (!is_bridged) {
    caching::emptyCache();
    if (share_of(device).is_limited()) share_of(device).charge(device);
  }
}

TorchMemory gpu_memory(Device device) {
  if (!torch_uses_gpus()) return {};
  const caching::DeviceStats stats = caching::getDeviceStats(index_of(device));
  const auto bytes = [](std::int64_t count) { return static_cast<std::size_t>(count); };
  return {.held = bytes(stats.reserved_bytes[0].current),
          .in_use = bytes(stats.allocated_bytes[0].current),
          .peak = bytes(stats.allocated_bytes[0].peak),
          .weights = WeightsInTorch::on(device),
          .workspaces = bytes_of(at::cuda::cublas_handle_stream_to_workspace(),
                                 &at::cuda::getChosenWorkspaceSize, device) +
                        bytes_of(at::cuda::cublaslt_handle_stream_to_workspace(),
                                 &at::cuda::getCUDABlasLtWorkspaceSize, device)};
}

void reset_gpu_peak(Device device) {
  if (torch_uses_gpus()) caching::resetPeakStats(index_of(device));
}

WithinBudget::WithinBudget(Device device) {
  if (device.is_cpu()) return;
  if (is_bridged.load(std::memory_order_relaxed)) return;  // which looks at each block
  observe_allocation_failures();
  if (memory_budget(device) == kNoBudget && !share_of(device).is_limited()) return;
  share_of(device).limit(device);
  device_ = device;
}

WithinBudget::~WithinBudget() {
  if (!device_) return;
  try {
    share_of(*device_).charge(*device_);
  } catch (const std::exception& error) {  // torch does not tell
    log(LogLevel::kWarning, error.what());
  }
}

}  // namespace tensoa::pytorch
