// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>

namespace tensoa::sched::detail {

/// A mutex that counts how often a thread found it locked.
class CountedMutex {
 public:
  void lock() {
    if (mutex_.try_lock()) return;
    waits_.fetch_add(1, std::memory_order_relaxed);
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }

  std::size_t waits() const noexcept { return waits_.load(std::memory_order_relaxed); }

 private:
  std::mutex mutex_;
  std::atomic<std::size_t> waits_ = 0;
};

}  // namespace tensoa::sched::detail
