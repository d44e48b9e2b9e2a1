// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <memory>

#include "tensoa/core/queue.hpp"

/// @file Ways to learn that a queue is done, for RunOptions::waiting. Without one, a graph waits by
/// Queue::when_settled: the driver's own thread calls. docs/decisions/0039-modules.md has what each
/// costs.

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
/// are idle: no other thread and the shortest wait, for a core that is busy while it waits.
std::unique_ptr<Waiting> wait_by_polling();

/// Threads of its own block until queues are done, one queue each at a time (CMSSW since 2024).
/// @param threads so many queues are waited for at a time; at least as many as events are in flight
/// @throws ConfigError for less than 1
std::unique_ptr<Waiting> wait_by_threads(int threads);

}  // namespace tensoa::sched
