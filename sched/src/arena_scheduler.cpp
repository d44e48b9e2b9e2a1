// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "arena_scheduler.hpp"

#include <chrono>
#include <new>
#include <thread>
#include <vector>

namespace tensoa::sched::detail {
namespace {

using Clock = std::chrono::steady_clock;

// What waits longer than this may wait a little longer: the thread sleeps between two questions,
// for some 60 us with the usual slack of Linux, and its core is free.
constexpr std::chrono::microseconds kSpin{100};
constexpr std::chrono::microseconds kSleep{10};

/// The scheduler for which this thread is in ask(): it looks at what continues itself.
thread_local const ArenaScheduler* asking = nullptr;

void pause_since(Clock::time_point begin) {
  if (Clock::now() - begin < kSpin) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(kSleep);
  }
}

}  // namespace

ArenaScheduler::ArenaScheduler(Waiting* waiting)
    : own_waiting_(waiting == nullptr ? wait_by_polling() : nullptr),
      waiting_(waiting == nullptr ? *own_waiting_ : *waiting),
      entrance_(std::make_shared<Entrance>()) {
  entrance_->scheduler = this;
}

ArenaScheduler::~ArenaScheduler() noexcept {
  const std::lock_guard lock(entrance_->mutex);
  entrance_->scheduler = nullptr;
  if (entrance_->is_enqueued.load()) Entrance::keep(entrance_);
}

/// oneTBB drops what is enqueued when it ends an arena, without its destructor: what such a task
/// owns would be lost.
void ArenaScheduler::Entrance::keep(const std::shared_ptr<Entrance>& entrance) noexcept {
  static std::mutex mutex;
  static auto* const kept = new (std::nothrow) std::vector<std::shared_ptr<Entrance>>;  // for ever
  if (kept == nullptr) return;
  const std::lock_guard lock(mutex);
  std::erase_if(*kept, [](const auto& other) { return !other->is_enqueued.load(); });
  try {
    kept->push_back(entrance);
  } catch (...) {  // no memory: it may be lost
    return;
  }
}

void ArenaScheduler::run_tasks() {
  while (true) {
    look();
    group_.wait();
    if (is_finished_.load()) break;
    rest();
  }
  group_.wait();  // the task that called finish()
}

void ArenaScheduler::finish() noexcept {
  is_finished_.store(true);
  if (entrance_->sleeps.load()) entrance_->wake();
}

void ArenaScheduler::Entrance::wake() noexcept {
  wakes.fetch_add(1);
  wakes.notify_one();
}

/// Until there may be a task for this thread.
void ArenaScheduler::rest() {
  // The flag before the last look; resume(), finish() and when_settled() the other way round: one
  // of both sees the other.
  entrance_->sleeps.store(true);
  const std::uint32_t seen = entrance_->wakes.load();
  const Clock::time_point begin = Clock::now();
  while (ready_.is_empty() && !is_finished_.load() && entrance_->wakes.load() == seen) {
    if (!ask()) {
      if (ready_.is_empty() && !is_finished_.load()) entrance_->wakes.wait(seen);
      break;
    }
    pause_since(begin);
  }
  entrance_->sleeps.store(false);
}

/// Lets a thread that is idle watch, if there is one.
void ArenaScheduler::let_watch() {
  if (!has_waits_.load() || queued_.load() > 0 || is_watched_.exchange(true)) return;
  group_.run([this] { watch(); });
}

/// Until there is a task for this thread, or nothing to wait for.
void ArenaScheduler::watch() {
  const Clock::time_point begin = Clock::now();
  bool is_outstanding = true;
  while (is_outstanding && queued_.load() == 0 && !is_finished_.load()) {
    is_outstanding = ask();
    if (!ready_.is_empty()) {
      look();
    } else if (is_outstanding) {
      pause_since(begin);
    }
  }
  is_watched_.store(false);
  if (is_outstanding && !is_finished_.load())
    let_watch();  // what was queued may have begun meanwhile
}

/// Makes the calls that are due; what continues is then in the list.
/// @return whether something is waited for that only this sees
bool ArenaScheduler::ask() {
  const ArenaScheduler* const before = std::exchange(asking, this);
  bool is_outstanding = waiting_.poll();
  is_outstanding |= timers_.call_due();
  asking = before;
  return is_outstanding;
}

void ArenaScheduler::poll() {
  ask();
  if (!ready_.is_empty()) look();
}

void ArenaScheduler::look() {
  ready_.take([&](Continuation task) { spawn([this, task] { call(task); }); });
}

void ArenaScheduler::resume(Continuation task) noexcept {
  // Once the task is in the list, the run may end at any time.
  const std::shared_ptr<Entrance> entrance = entrance_;
  const bool looks_itself = asking == this;
  ready_.push(task);
  if (looks_itself) return;
  if (entrance->sleeps.load()) return entrance->wake();
  if (entrance->is_enqueued.exchange(true)) return;
  try {
    entrance->arena.enqueue([entrance] {
      entrance->is_enqueued.store(false);
      const std::lock_guard lock(entrance->mutex);
      if (entrance->scheduler != nullptr) entrance->scheduler->look();
    });
  } catch (...) {  // no memory: the thread in run_tasks() looks, too
    entrance->is_enqueued.store(false);
  }
}

void ArenaScheduler::when_settled(const Queue& queue,
                                  std::function<void(std::exception_ptr)> call) {
  waiting_.when_settled(queue, std::move(call));
  has_waits_.store(true);
  if (entrance_->sleeps.load()) entrance_->wake();
}

void ArenaScheduler::call_at(Timers::Clock::time_point when, std::function<void()> call) {
  timers_.add(when, std::move(call));
  has_waits_.store(true);
  if (entrance_->sleeps.load()) entrance_->wake();
}

}  // namespace tensoa::sched::detail
