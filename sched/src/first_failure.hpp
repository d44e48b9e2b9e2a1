// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <exception>
#include <mutex>

namespace tensoa::sched::detail {

/// The first exception of a run. oneTBB sees none of them: it would drop the events in flight.
/// *Threads*: any, but for rethrow().
class FirstFailure {
 public:
  void keep(const std::exception_ptr& exception) noexcept {
    const std::lock_guard lock(mutex_);
    if (!exception_) exception_ = exception;
    is_there_ = true;
  }

  bool is_there() const noexcept { return is_there_; }

  /// After the run.
  void rethrow() const {
    if (exception_) std::rethrow_exception(exception_);
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> is_there_ = false;
  std::exception_ptr exception_;
};

}  // namespace tensoa::sched::detail
