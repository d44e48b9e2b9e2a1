// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "shared/device_region.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

#include "kserve/messages.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::remote {
namespace {

constexpr SharingProtocol kCuda{
    .register_method = kDeviceMemoryRegister,
    .unregister_method = kDeviceMemoryUnregister,
    .name = "CUDA shared memory",
    .advice =
        "A Triton with the same GPU on this host takes it when it is started with "
        "--allow-client-shm=true"};

/// The bytes of an allocation: one of 0 bytes has a unique address, too.
std::size_t units(std::size_t bytes) {
  return whole(std::max<std::size_t>(bytes, 1), DeviceRegion::kUnit);
}

std::size_t checked_bytes(Device device, std::size_t bytes) {
  if (device.is_cpu() || bytes == 0 || bytes > std::numeric_limits<std::size_t>::max() / 2) {
    throw ConfigError("SharedDeviceMemory: got " + std::to_string(bytes) + " bytes on " +
                      to_string(device) +
                      ", expected at least 1 byte of a GPU; memory of the host is shared by "
                      "remote::SharedMemory");
  }
  return whole(bytes, kExportedUnit);
}

}  // namespace

DeviceRegion::DeviceRegion(Device device, std::size_t bytes)
    : SharedRegion(kCuda),
      buffer_(device, checked_bytes(device, bytes)),
      handle_(export_memory(buffer_)),
      free_(buffer_.size()) {}

std::string DeviceRegion::registration() const {
  return encode_register_device(name_,
                                {reinterpret_cast<const char*>(handle_.data()), handle_.size()},
                                buffer_.device().index, buffer_.size());
}

std::optional<std::uint64_t> DeviceRegion::find(const void* data,
                                                std::size_t bytes) const noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(buffer_.data());
  const auto at = reinterpret_cast<std::uintptr_t>(data);
  if (at < begin || at - begin >= buffer_.size() || bytes > buffer_.size() - (at - begin)) {
    return std::nullopt;
  }
  return at - begin;
}

std::byte* DeviceRegion::allocate(std::size_t bytes) {
  if (bytes > buffer_.size()) return nullptr;  // before rounding up, which may overflow
  const std::lock_guard lock(mutex_);
  const std::optional<std::size_t> place = free_.take(units(bytes));
  return place ? buffer_.data() + *place : nullptr;
}

void DeviceRegion::release(std::byte* data, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  free_.give_back(static_cast<std::size_t>(data - buffer_.data()), units(bytes));
}

LiveRegions<DeviceRegion>& device_regions() {
  static LiveRegions<DeviceRegion> the_regions;
  return the_regions;
}

}  // namespace tensoa::remote
