// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <coroutine>
#include <exception>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "tensoa/core/queue.hpp"
#include "tensoa/core/result.hpp"

/// @file
/// Work that waits without holding a thread, as a C++20 coroutine. Tasks of a ModuleGraph continue on oneTBB, those
/// of a framework where its Scheduler wants (docs/scheduling.md has one in 40 lines).

namespace tensoa::sched {

class Task;
class Continuation;

/// Where tasks continue after a wait. A ModuleGraph has its own; a framework implements this to run
/// tasks on its threads. Must outlive the tasks that were started with it.
class Scheduler {
 public:
  virtual ~Scheduler() = default;

  /// Arranges that a thread of this scheduler calls `task` once, soon. Called from any thread, also
  /// from one of a GPU driver, where it must not block nor call the GPU runtime.
  virtual void resume(Continuation task) noexcept = 0;

  /// How tasks wait for a queue: calls `call` once when the work enqueued so far is done or has
  /// failed. As it stands, Queue::when_settled; another way of waiting replaces it (waiting.hpp).
  virtual void when_settled(const Queue& queue, std::function<void(std::exception_ptr)> call) {
    queue.when_settled(std::move(call));
  }

  /// Calls `call` once, at `when` or soon after it, for tasks that wait for a time at most (Batcher). A
  /// scheduler without a clock does it now, so that nothing waits. It may be dropped when no task is left.
  virtual void call_at(std::chrono::steady_clock::time_point /*when*/, std::function<void()> call) {
    call();
  }
};

/// A coroutine that returns nothing and may wait: for a queue (`co_await done(queue)`), for a call
/// with a completion (`co_await completed<T>(…)`), for another Task (`co_await other(…)`). A
/// waiting task holds no thread and no stack, only its local variables, and may continue in another
/// thread. So across a wait hold no lock, no guard of a thread and no reference to a thread_local.
///
///     sched::Task score(sched::EventView event) {
///       model.forward(event.queue(), plan);      // enqueued
///       co_await sched::done(event.queue());     // other events have the thread meanwhile
///       publish(event);
///     }
///
/// It begins when it is started or awaited. Parameters that are references must live until its end.
class [[nodiscard]] Task {
 public:
  class promise_type;

  Task(Task&& other) noexcept : task_(std::exchange(other.task_, nullptr)) {}
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (task_) task_.destroy();
  }

  /// Begins the task in the calling thread and returns at its first wait, or at its end. `done` is
  /// called once, by the thread in which the task ends, with what the task threw or with nullptr;
  /// it must not throw. Its local variables are gone by then.
  /// @param owner for the scheduler: Continuation::owner()
  void start(Scheduler& scheduler, std::function<void(std::exception_ptr)> done,
             void* owner = nullptr) &&;

  auto operator co_await() && noexcept;

 private:
  explicit Task(std::coroutine_handle<promise_type> task) noexcept : task_(task) {}

  std::coroutine_handle<promise_type> task_;
};

class Task::promise_type {
 public:
  Task get_return_object() noexcept {
    return Task(std::coroutine_handle<promise_type>::from_promise(*this));
  }
  std::suspend_always initial_suspend() noexcept { return {}; }
  auto final_suspend() noexcept { return End{}; }
  void return_void() noexcept {}
  void unhandled_exception() noexcept { failure_ = std::current_exception(); }

  Scheduler& scheduler() const noexcept { return *scheduler_; }

 private:
  friend class Task;
  friend class Continuation;
  friend class ContinuationList;

  struct End {
    bool await_ready() noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> task) noexcept {
      promise_type& self = task.promise();
      if (self.awaited_by_) return self.awaited_by_;  // its Task destroys this one
      const auto done = std::move(self.done_);
      const std::exception_ptr failure = std::move(self.failure_);
      task.destroy();
      done(failure);
      return std::noop_coroutine();
    }
    void await_resume() noexcept {}
  };

  Scheduler* scheduler_ = nullptr;
  void* owner_ = nullptr;
  promise_type* next_ = nullptr;  ///< among those that shall continue: the scheduler's
  std::coroutine_handle<> awaited_by_;
  std::function<void(std::exception_ptr)> done_;
  std::exception_ptr failure_;
};

/// A task that shall continue, from its last wait to the next one or to its end. Cheap to copy;
/// called once.
class Continuation {
 public:
  explicit Continuation(std::coroutine_handle<Task::promise_type> task) noexcept
      : promise_(&task.promise()) {}

  void operator()() const {
    std::coroutine_handle<Task::promise_type>::from_promise(*promise_).resume();
  }

  /// What the task was started with.
  void* owner() const noexcept { return promise_->owner_; }

 private:
  friend class ContinuationList;
  explicit Continuation(Task::promise_type* promise) noexcept : promise_(promise) {}

  Task::promise_type* promise_;
};

inline void Task::start(Scheduler& scheduler, std::function<void(std::exception_ptr)> done,
                        void* owner) && {
  promise_type& promise = task_.promise();
  promise.scheduler_ = &scheduler;
  promise.done_ = std::move(done);
  promise.owner_ = owner;
  std::exchange(task_, nullptr).resume();
}

inline auto Task::operator co_await() && noexcept {
  struct Awaiter {
    std::coroutine_handle<promise_type> task;
    bool await_ready() noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> by) noexcept {
      task.promise().scheduler_ = by.promise().scheduler_;
      task.promise().owner_ = by.promise().owner_;
      task.promise().awaited_by_ = by;
      return task;
    }
    void await_resume() {
      if (task.promise().failure_) std::rethrow_exception(task.promise().failure_);
    }
  };
  return Awaiter{task_};
}

namespace detail {

/// Lets one of two go first: the coroutine that suspends, and the call after which there is nothing
/// to wait for.
class Settled {
 public:
  /// @return whether the other one was first
  bool arrive() noexcept { return is_first_there_.exchange(true); }

 private:
  std::atomic<bool> is_first_there_ = false;
};

class QueueDone {
 public:
  explicit QueueDone(const Queue& queue) : queue_(queue) {}
  bool await_ready() const noexcept { return queue_.device().is_cpu(); }
  bool await_suspend(std::coroutine_handle<Task::promise_type> task) {
    Scheduler& scheduler = task.promise().scheduler();
    scheduler.when_settled(queue_, [this, task](std::exception_ptr failure) {
      failure_ = std::move(failure);
      if (settled_.arrive()) task.promise().scheduler().resume(Continuation(task));
    });
    return !settled_.arrive();
  }
  void await_resume() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  Queue queue_;
  std::exception_ptr failure_;
  Settled settled_;
};

template <class T, class Start>
class Completed {
 public:
  explicit Completed(Start start) : start_(std::move(start)) {}
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<Task::promise_type> task) {
    start_([this, task](Result<T> result) {
      result_.emplace(std::move(result));
      if (settled_.arrive()) task.promise().scheduler().resume(Continuation(task));
    });
    return !settled_.arrive();
  }
  Result<T> await_resume() { return *std::move(result_); }

 private:
  Start start_;
  std::optional<Result<T>> result_;
  Settled settled_;
};

}  // namespace detail

/// Waits until what was enqueued on `queue` so far is done: `co_await done(queue)`. Does not wait
/// for a CPU queue.
/// @throws DeviceError that the work failed with, or where nothing can be enqueued
[[nodiscard]] inline auto done(const Queue& queue) { return detail::QueueDone(queue); }

/// Waits for a call that reports its end to a completion, such as Model::submit, on a GPU, the CPU
/// or a server alike:
///
///     const Result<CopyReport> report = co_await sched::completed<CopyReport>(
///         [&](auto completion) { model.submit(queue, plan, std::move(completion)); });
///
/// @param start called once as `start(completion)`; `completion(Result<T>)` is called once, by any
/// thread, or never where `start` throws, which the waiting task then does
template <class T, class Start>
[[nodiscard]] auto completed(Start start) {
  return detail::Completed<T, Start>(std::move(start));
}

}  // namespace tensoa::sched
