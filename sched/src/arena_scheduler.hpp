// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "tensoa/sched/impl/continuation_list.hpp"
#include "tensoa/sched/task.hpp"
#include "tensoa/sched/waiting.hpp"
#include "timers.hpp"

namespace tensoa::sched::detail {

/// Runs tasks on the arena of oneTBB that its maker is in, until finish() is called.
///
/// Other threads (of a driver) can only enqueue into an arena, and oneTBB runs what is enqueued at its
/// outermost level alone: when all threads of the arena wait inside a task, it would never run. So
/// tasks that shall continue are in a separate list, which the thread in run_tasks() looks into as
/// well; what is enqueued only makes another thread look, too.
///
/// Waiting::poll() is called between tasks, and by one idle thread (watch()): otherwise an event that a
/// GPU has ended would wait for the end of a task that runs, next to idle threads.
class ArenaScheduler : public Scheduler {
 public:
  /// @param waiting nullptr: wait_by_polling()
  explicit ArenaScheduler(Waiting* waiting);
  ~ArenaScheduler() noexcept override;
  ArenaScheduler(const ArenaScheduler&) = delete;
  ArenaScheduler& operator=(const ArenaScheduler&) = delete;

  /// Calls `function()` by a thread of the arena. It must not throw. *Threads*: those of the arena.
  template <class Function>
  void spawn(Function function) {
    tasks_.fetch_add(1);
    queued_.fetch_add(1);
    group_.run([this, function = std::move(function)] {
      queued_.fetch_sub(1);
      let_watch();
      function();
      poll();
      tasks_.fetch_sub(1);
    });
    if (entrance_->sleeps.load(std::memory_order_relaxed)) entrance_->wake();
  }

  /// Takes part until finish() was called and everything spawned has ended.
  void run_tasks();
  void finish() noexcept;

  /// Tasks that run or wait for a thread.
  std::size_t tasks() const noexcept { return tasks_.load(); }

  void resume(Continuation task) noexcept override;
  void when_settled(const Queue& queue, std::function<void(std::exception_ptr)> call) override;
  void call_at(Timers::Clock::time_point when, std::function<void()> call) override;

 private:
  /// Calls a task that continues.
  virtual void call(Continuation task) = 0;

  /// What a thread from outside needs, which may be a moment behind the end of the run.
  struct Entrance {
    void wake() noexcept;
    static void keep(const std::shared_ptr<Entrance>& entrance) noexcept;

    tbb::task_arena arena{tbb::task_arena::attach{}};
    std::mutex mutex;
    ArenaScheduler* scheduler = nullptr;  ///< null after its end
    std::atomic<bool> is_enqueued = false;
    std::atomic<bool> sleeps = false;  ///< the thread in run_tasks()
    std::atomic<std::uint32_t> wakes = 0;
  };

  void look();
  void poll();
  bool ask();
  void rest();
  void let_watch();
  void watch();

  std::unique_ptr<Waiting> own_waiting_;
  Waiting& waiting_;
  std::shared_ptr<Entrance> entrance_;
  /// Isolated: oneTBB would drop tasks where a group around the run is cancelled, and the run never end.
  tbb::task_group_context context_{
      tbb::task_group_context::isolated,
      tbb::task_group_context::default_traits | tbb::task_group_context::concurrent_wait};
  tbb::task_group group_{context_};
  ContinuationList ready_;
  std::atomic<std::size_t> tasks_ = 0;
  std::atomic<std::size_t> queued_ = 0;   ///< of these, those that wait for a thread
  std::atomic<bool> has_waits_ = false;   ///< a task waited for what only poll() sees
  std::atomic<bool> is_watched_ = false;  ///< there is a task in watch()
  Timers timers_;
  std::atomic<bool> is_finished_ = false;
};

}  // namespace tensoa::sched::detail
