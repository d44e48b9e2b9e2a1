// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "shared/live_regions.hpp"
#include "shared/shared_region.hpp"
#include "shared/stretches.hpp"
#include "tensoa/core/imported_memory.hpp"
#include "tensoa/core/memory.hpp"

namespace tensoa::remote {

/// Memory of a GPU that servers on this host open.
/// *Threads*: safe.
class DeviceRegion final : public SharedRegion {
 public:
  /// @throws ConfigError, DeviceError
  DeviceRegion(Device device, std::size_t bytes);

  std::string registration() const override;

  std::size_t bytes() const noexcept { return buffer_.size(); }

  bool contains(const void* data) const noexcept { return find(data, 1).has_value(); }

  /// Where the bytes are in the region; nullopt: not in it.
  std::optional<std::uint64_t> find(const void* data, std::size_t bytes) const noexcept;

  /// Where an allocation begins: what kernels and copies read fastest.
  static constexpr std::size_t kUnit = 256;

  /// Whole units, at least one; nullptr where no stretch is long enough.
  std::byte* allocate(std::size_t bytes);
  void release(std::byte* data, std::size_t bytes) noexcept;

  /// Whether this is the first call that finds no room.
  bool note_full() noexcept { return !has_been_full_.test_and_set(); }

 private:
  Buffer buffer_;
  MemoryHandle handle_;
  std::mutex mutex_;
  Stretches free_;
  std::atomic_flag has_been_full_;
};

/// Memory of a region for one call.
class DeviceScratch {
 public:
  /// Not valid where the region has no room.
  DeviceScratch(std::shared_ptr<DeviceRegion> region, std::size_t bytes)
      : region_(std::move(region)), bytes_(bytes), data_(region_->allocate(bytes)) {}
  ~DeviceScratch() {
    if (data_ != nullptr) region_->release(data_, bytes_);
  }
  DeviceScratch(DeviceScratch&& other) noexcept
      : region_(std::move(other.region_)),
        bytes_(other.bytes_),
        data_(std::exchange(other.data_, nullptr)) {}
  DeviceScratch& operator=(DeviceScratch&&) = delete;
  DeviceScratch(const DeviceScratch&) = delete;
  DeviceScratch& operator=(const DeviceScratch&) = delete;

  std::byte* data() const noexcept { return data_; }

  /// A server may still write to it: it is never used again.
  void abandon() noexcept { data_ = nullptr; }

 private:
  std::shared_ptr<DeviceRegion> region_;
  std::size_t bytes_;
  std::byte* data_;
};

/// Those of SharedDeviceMemory.
LiveRegions<DeviceRegion>& device_regions();

}  // namespace tensoa::remote
