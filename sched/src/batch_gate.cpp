// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/sched/impl/batch_gate.hpp"

#include <new>
#include <string>
#include <utility>

#include "tensoa/core/error.hpp"

namespace tensoa::sched::detail {
namespace {

void resume(TaskHandle task) {
  if (task) task.promise().scheduler().resume(Continuation(task));
}

}  // namespace

BatchGate::BatchGate(BatchLimits limits, bool has_function) : limits_(limits) {
  if (!has_function) throw ConfigError("Batcher: got no function, expected what does a batch");
  if (limits.rows == 0 || limits.items == 0 || limits.latency.count() < 0) {
    throw ConfigError("Batcher: got limits of " + std::to_string(limits.rows) + " rows, " +
                      std::to_string(limits.items) + " items and " +
                      std::to_string(limits.latency.count()) +
                      " ns, expected at least 1 row, 1 item and 0 ns");
  }
}

BatchGate::Entered BatchGate::enter(void* item, std::size_t rows) {
  std::shared_ptr<Batch> batch;
  bool is_first = false;
  TaskHandle too_full;
  TaskHandle full;
  {
    const std::lock_guard lock(mutex_);
    if (open_ && rows > limits_.rows - open_->rows) too_full = close_locked(*open_);
    if (!open_) open_ = std::make_shared<Batch>();
    batch = open_;
    is_first = batch->items.empty();
    batch->items.push_back(item);
    batch->rows += rows;
    if (batch->rows >= limits_.rows || batch->items.size() >= limits_.items) {
      full = close_locked(*batch);
    }
  }
  resume(too_full);
  resume(full);
  return {std::move(batch), is_first};
}

/// @return the task that waits for it
TaskHandle BatchGate::close_locked(Batch& batch) {
  if (std::exchange(batch.is_closed, true)) return {};
  ++counts_.batches;
  counts_.items += batch.items.size();
  counts_.rows += batch.rows;
  const TaskHandle first = std::exchange(batch.first, {});
  if (open_.get() == &batch) open_.reset();  // its tasks have it, too
  return first;
}

void BatchGate::close(const std::shared_ptr<Batch>& batch) {
  TaskHandle first;
  {
    const std::lock_guard lock(mutex_);
    first = close_locked(*batch);
  }
  resume(first);
}

bool BatchGate::is_closed(const Batch& batch) const {
  const std::lock_guard lock(mutex_);
  return batch.is_closed;
}

bool BatchGate::wait_for_close(Batch& batch, TaskHandle task) {
  const std::lock_guard lock(mutex_);
  if (!batch.is_closed) batch.first = task;
  return !batch.is_closed;
}

bool BatchGate::wait_for_end(Batch& batch, TaskHandle task) {
  const std::lock_guard lock(mutex_);
  if (!batch.is_done) batch.others.push_back(task);
  return !batch.is_done;
}

void BatchGate::finish(Batch& batch) {
  std::vector<TaskHandle> others;
  {
    const std::lock_guard lock(mutex_);
    batch.is_done = true;
    others = std::move(batch.others);
  }
  for (const TaskHandle task : others) resume(task);
}

BatchCounts BatchGate::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

bool BatchClosed::await_suspend(TaskHandle task) const {
  // The call may come before this returns, and the task then runs and destroys this.
  try {
    if (gate->latency().count() == 0) {
      gate->close(batch);
    } else {
      task.promise().scheduler().call_at(std::chrono::steady_clock::now() + gate->latency(),
                                         [gate = gate, batch = batch] { gate->close(batch); });
    }
  } catch (const std::bad_alloc&) {
    gate->close(batch);
  }
  return gate->wait_for_close(*batch, task);
}

}  // namespace tensoa::sched::detail
