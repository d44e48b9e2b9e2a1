// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "tensoa/core/memory.hpp"

namespace tensoa::remote {

/// Host memory for the calls in flight of one device, which is kept: pinning it is slow.
/// *Threads*: safe.
class PinnedPool {
 public:
  explicit PinnedPool(Device device) : device_(device) {}

  /// At least `bytes`. @throws DeviceError
  PinnedBuffer take(std::size_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      const auto found =
          std::ranges::find_if(free_, [&](const auto& buffer) { return buffer.size() >= bytes; });
      if (found != free_.end()) {
        PinnedBuffer buffer = std::move(*found);
        free_.erase(found);
        return buffer;
      }
    }
    return {device_, std::bit_ceil(std::max<std::size_t>(bytes, 4096))};
  }

  void give_back(PinnedBuffer buffer) {
    const std::lock_guard lock(mutex_);
    const auto larger = std::ranges::find_if(
        free_, [&](const auto& other) { return other.size() >= buffer.size(); });
    free_.insert(larger, std::move(buffer));
  }

 private:
  Device device_;
  std::mutex mutex_;
  std::vector<PinnedBuffer> free_;  ///< the smallest first
};

}  // namespace tensoa::remote
