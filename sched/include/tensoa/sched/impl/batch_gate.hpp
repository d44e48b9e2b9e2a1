// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "tensoa/sched/task.hpp"

namespace tensoa::sched {

/// When a batch begins: with whichever comes first.
struct BatchLimits {
  /// The most rows of a batch; it begins before an item that would exceed them. An item with more is a batch.
  std::size_t rows = 1U << 16U;
  /// The most items: with the number of events in flight none waits for events that cannot come.
  std::size_t items = 8;
  /// The longest that an item waits for others. A run of modules looks at the clock between modules and
  /// while a thread is idle, so a module that keeps all threads busy makes it longer. 0: as they come.
  std::chrono::nanoseconds latency = std::chrono::microseconds(100);
};

/// What a Batcher has done.
struct BatchCounts {
  std::size_t batches = 0;
  std::size_t items = 0;
  std::size_t rows = 0;
};

namespace detail {

using TaskHandle = std::coroutine_handle<Task::promise_type>;

struct Batch {
  std::vector<void*> items;
  std::size_t rows = 0;
  std::exception_ptr failure;  ///< of all of it; written before is_done
  bool is_closed = false;
  bool is_done = false;
  TaskHandle first;                ///< waits until it is closed; the first item's
  std::vector<TaskHandle> others;  ///< wait until it is done
};

/// The open batch, and the tasks that wait. *Threads*: any.
class BatchGate {
 public:
  BatchGate(BatchLimits limits, bool has_function);

  struct Entered {
    std::shared_ptr<Batch> batch;
    bool is_first;  ///< the task of this item runs the batch
  };
  Entered enter(void* item, std::size_t rows);
  void close(const std::shared_ptr<Batch>& batch);
  void finish(Batch& batch);

  bool is_closed(const Batch& batch) const;

  /// @return whether the task has to wait; it may be running again when this returns
  bool wait_for_close(Batch& batch, TaskHandle task);
  bool wait_for_end(Batch& batch, TaskHandle task);

  BatchCounts counts() const;
  std::chrono::nanoseconds latency() const noexcept { return limits_.latency; }

 private:
  TaskHandle close_locked(Batch& batch);

  const BatchLimits limits_;
  mutable std::mutex mutex_;  ///< of all batches, too
  std::shared_ptr<Batch> open_;
  BatchCounts counts_;
};

struct BatchClosed {
  std::shared_ptr<BatchGate> gate;
  std::shared_ptr<Batch> batch;

  /// A batch that is full needs no timer.
  bool await_ready() const { return gate->is_closed(*batch); }
  bool await_suspend(TaskHandle task) const;
  void await_resume() const noexcept {}
};

struct BatchDone {
  std::shared_ptr<BatchGate> gate;
  std::shared_ptr<Batch> batch;

  bool await_ready() const noexcept { return false; }
  bool await_suspend(TaskHandle task) const { return gate->wait_for_end(*batch, task); }
  void await_resume() const noexcept {}
};

}  // namespace detail
}  // namespace tensoa::sched
