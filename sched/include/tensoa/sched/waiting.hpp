// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <memory>

#include "tensoa/core/queue.hpp"

/// @file
/// Ways to learn that a queue is done, for RunOptions::waiting. docs/scheduling.md has what each costs.

namespace tensoa::sched {

/// *Threads*: when_settled() from any; poll() from those of the run.
class Waiting {
 public:
  virtual ~Waiting() = default;

  /// Calls `call` once, as Queue::when_settled().
  virtual void when_settled(const Queue& queue, std::function<void(std::exception_ptr)> call) = 0;

  /// Called by threads of the run between modules and while they have none to run. Makes the calls
  /// that are due.
  /// @return whether calls are outstanding that only poll() will make
  virtual bool poll() { return false; }
};

/// Threads of the run ask the driver for the events of the queues, between modules and while they
/// are idle: no other thread; which way is fastest when is in docs/scheduling.md. After 0.1 ms without
/// anything to do the thread sleeps between two questions.
std::unique_ptr<Waiting> wait_by_polling();

/// A thread of the driver calls (Queue::when_settled): no core is busy, but the call comes some 0.1
/// ms late, and one thread makes all calls.
std::unique_ptr<Waiting> wait_by_callback();

/// The thread of the module blocks (Queue::wait()): each thread works on one event, which continues as soon as its
/// queue is done.
std::unique_ptr<Waiting> wait_by_blocking();

/// Separate threads block until queues are done, one queue each at a time (CMSSW since 2024).
/// @param threads the number of queues that are waited for at a time; at least the number of events in flight
/// @throws ConfigError for less than 1
std::unique_ptr<Waiting> wait_by_threads(int threads);

}  // namespace tensoa::sched
