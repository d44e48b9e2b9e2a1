// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <utility>

#include "tensoa/sched/task.hpp"

namespace tensoa::sched {

/// Tasks that shall continue, pushed by any thread without a lock and without memory, and taken
/// together.
class ContinuationList {
 public:
  /// @return whether the list was empty
  bool push(Continuation task) noexcept {
    Task::promise_type* head = head_.load();
    do {
      task.promise_->next_ = head;
    } while (!head_.compare_exchange_weak(head, task.promise_));
    return head == nullptr;
  }

  bool is_empty() const noexcept { return head_.load() == nullptr; }

  /// Takes all and calls `function(Continuation)` for each, the oldest first.
  template <class Function>
  void take(const Function& function) {
    Task::promise_type* newest = head_.exchange(nullptr);
    Task::promise_type* oldest = nullptr;
    while (newest != nullptr) {
      Task::promise_type* const next = std::exchange(newest->next_, oldest);
      oldest = std::exchange(newest, next);
    }
    while (oldest != nullptr) {
      // Before the call: the task may be gone after it.
      function(Continuation(std::exchange(oldest, oldest->next_)));
    }
  }

 private:
  std::atomic<Task::promise_type*> head_ = nullptr;
};

}  // namespace tensoa::sched
