// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory_bridge.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "tensoa/core/error.hpp"

namespace tensoa::pytorch {
namespace {

constexpr std::uintptr_t kCudaAlignment = 256;

/// Whether a handle stands for one of several streams: 1 and 2 are the default stream of the current
/// device, and of the calling thread there.
bool is_default(const void* stream) { return reinterpret_cast<std::uintptr_t>(stream) <= 2; }

/// Ends with a typed error, whatever the caller's function throws.
void* ask(const TorchAllocator& allocator, std::size_t bytes, Device device, void* stream) {
  const std::string asked =
      "torch requested " + std::to_string(bytes) + " bytes on " + to_string(device) + ", ";
  void* data = nullptr;
  try {
    data = allocator.allocate(bytes, device, stream);
  } catch (const std::exception& error) {
    throw DeviceFullError(asked + "the allocator that was set for it failed: " + error.what());
  }
  if (data == nullptr) {
    throw DeviceFullError(asked + "the allocator that was set for it has no more memory");
  }
  if (reinterpret_cast<std::uintptr_t>(data) % kCudaAlignment != 0) {
    allocator.free(data, device, stream);
    throw ConfigError(asked +
                      "the allocator that was set for it gave memory that is not aligned to " +
                      std::to_string(kCudaAlignment) + " bytes");
  }
  return data;
}

}  // namespace

MemoryBridge::MemoryBridge(TorchAllocator allocator, std::function<void*()> current_stream,
                           std::function<void(Device)> wait)
    : allocator_(std::move(allocator)),
      current_stream_(std::move(current_stream)),
      wait_(std::move(wait)) {}

void* MemoryBridge::allocate(std::size_t bytes, Device device, void* stream) {
  if (bytes == 0) return nullptr;
  if (stream != current_stream_() || is_default(stream)) stream = nullptr;
  MemoryCharge charge(device, MemoryPurpose::kEngines, bytes);
  void* const data = ask(allocator_, bytes, device, stream);
  const std::lock_guard lock(mutex_);
  blocks_.insert_or_assign(data, Allocation{std::move(charge), stream});
  TorchMemory& figures = figures_[place_of(device)];
  figures.in_use += bytes;
  figures.held = figures.in_use;
  figures.peak = std::max(figures.peak, figures.in_use);
  return data;
}

void MemoryBridge::free(void* data) noexcept {
  std::unique_lock lock(mutex_);
  auto block = blocks_.extract(data);
  if (block.empty()) return;
  const Device device = block.mapped().charge.device();
  TorchMemory& figures = figures_[place_of(device)];
  figures.in_use -= block.mapped().charge.bytes();
  figures.held = figures.in_use;
  lock.unlock();
  void* stream = block.mapped().stream;
  if (stream != current_stream_()) stream = nullptr;
  if (stream == nullptr) wait_(device);
  allocator_.free(data, device, stream);
}

void MemoryBridge::record(const void* data) {
  const std::lock_guard lock(mutex_);
  const auto block = blocks_.find(data);
  if (block != blocks_.end()) block->second.stream = nullptr;
}

TorchMemory MemoryBridge::figures(Device device) const {
  const std::lock_guard lock(mutex_);
  return figures_[place_of(device)];
}

void MemoryBridge::reset_peak(Device device) {
  const std::lock_guard lock(mutex_);
  TorchMemory& figures = figures_[place_of(device)];
  figures.peak = figures.in_use;
}

}  // namespace tensoa::pytorch
