// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/remote/shared_device_memory.hpp"

#include <string>

#include "shared/device_region.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::remote {

SharedDeviceMemory::SharedDeviceMemory(Device device, std::size_t bytes)
    : region_(std::make_shared<DeviceRegion>(device, bytes)) {
  device_regions().add(region_);
}

SharedDeviceMemory::~SharedDeviceMemory() { region_->unregister(); }

std::size_t SharedDeviceMemory::size() const noexcept { return region_->bytes(); }

void* SharedDeviceMemory::do_allocate(std::size_t bytes, std::size_t alignment) {
  if (alignment > DeviceRegion::kUnit) {
    throw ConfigError("SharedDeviceMemory: got an alignment of " + std::to_string(alignment) +
                      " bytes, expected at most " + std::to_string(DeviceRegion::kUnit));
  }
  if (std::byte* const data = region_->allocate(bytes)) return data;
  throw DeviceFullError("SharedDeviceMemory: no stretch of " + std::to_string(bytes) +
                        " bytes is free, of " + std::to_string(region_->bytes()) +
                        "; make it larger, or keep fewer collections in it");
}

void SharedDeviceMemory::do_deallocate(void* data, std::size_t bytes, std::size_t /*alignment*/) {
  region_->release(static_cast<std::byte*>(data), bytes);
}

}  // namespace tensoa::remote
