// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <mutex>
#include <vector>

namespace tensoa::sched::detail {

/// Calls that are due at a time. Something has to look: call_due(). *Threads*: any.
class Timers {
 public:
  using Clock = std::chrono::steady_clock;

  void add(Clock::time_point when, std::function<void()> call);

  /// Makes the calls that are due. @return whether others are left
  bool call_due();

 private:
  struct Timer {
    Clock::time_point when;
    std::function<void()> call;
  };
  static constexpr Clock::rep kNever = std::numeric_limits<Clock::rep>::max();

  void set_next();

  std::mutex mutex_;
  std::vector<Timer> timers_;              ///< a heap, the earliest first
  std::atomic<Clock::rep> next_ = kNever;  ///< the earliest, read without the lock
};

}  // namespace tensoa::sched::detail
