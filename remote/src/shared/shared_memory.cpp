// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/remote/shared_memory.hpp"

#include <string>

#include "shared/region.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::remote {

SharedMemory::SharedMemory(std::size_t bytes) : region_(std::make_shared<Region>(bytes)) {
  host_regions().add(region_);
}

SharedMemory::~SharedMemory() { region_->unregister(); }

std::size_t SharedMemory::size() const noexcept { return region_->bytes(); }

void* SharedMemory::do_allocate(std::size_t bytes, std::size_t alignment) {
  if (alignment > Region::unit()) {
    throw ConfigError("SharedMemory: got an alignment of " + std::to_string(alignment) +
                      " bytes, expected at most a page, " + std::to_string(Region::unit()));
  }
  if (std::byte* const data = region_->allocate(bytes)) return data;
  throw DeviceFullError("SharedMemory: no stretch of " + std::to_string(bytes) +
                        " bytes is free, of " + std::to_string(region_->bytes()) +
                        "; make it larger, or keep fewer collections in it");
}

void SharedMemory::do_deallocate(void* data, std::size_t /*bytes*/, std::size_t /*alignment*/) {
  region_->release(static_cast<std::byte*>(data));
}

}  // namespace tensoa::remote
