// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

namespace tensoa::remote {

/// The regions of one kind that live in this process. *Threads*: safe.
template <class AnyRegion>
class LiveRegions {
 public:
  /// The one that has the address; nullptr: none. Cheap where there is no region.
  std::shared_ptr<AnyRegion> find(const void* data) {
    if (count_.load(std::memory_order_acquire) == 0) return nullptr;
    const std::shared_lock lock(mutex_);
    for (const std::weak_ptr<AnyRegion>& weak : all_) {
      std::shared_ptr<AnyRegion> region = weak.lock();
      if (region != nullptr && region->contains(data)) return region;
    }
    return nullptr;
  }

  void add(const std::shared_ptr<AnyRegion>& region) {
    const std::lock_guard lock(mutex_);
    std::erase_if(all_, [](const auto& other) { return other.expired(); });
    all_.push_back(region);
    count_ = all_.size();
  }

 private:
  std::shared_mutex mutex_;
  std::vector<std::weak_ptr<AnyRegion>> all_;
  std::atomic<std::size_t> count_ = 0;
};

}  // namespace tensoa::remote
