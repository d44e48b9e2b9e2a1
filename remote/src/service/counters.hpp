// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <mutex>

#include "tensoa/remote/statistics.hpp"
#include "transport/transport.hpp"

namespace tensoa::remote {

/// The figures of one server. *Threads*: safe.
class Counters {
 public:
  void note_sent(std::size_t bytes, bool is_retry) {
    const std::lock_guard lock(mutex_);
    figures_.bytes_sent += bytes;
    figures_.retries += is_retry ? 1 : 0;
  }

  void note_success(std::size_t bytes, Clock::duration time) {
    const std::lock_guard lock(mutex_);
    ++figures_.requests;
    figures_.bytes_received += bytes;
    figures_.latency.add(time);
  }

  void note_failure(int code) {
    const std::lock_guard lock(mutex_);
    ++figures_.requests;
    const auto known = static_cast<std::size_t>(code) < figures_.failures.size();
    ++figures_.failures[known ? static_cast<std::size_t>(code) : 2];
  }

  ServerStatistics figures() const {
    const std::lock_guard lock(mutex_);
    return figures_;
  }

 private:
  mutable std::mutex mutex_;
  ServerStatistics figures_;
};

}  // namespace tensoa::remote
