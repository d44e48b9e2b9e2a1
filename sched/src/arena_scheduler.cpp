// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "arena_scheduler.hpp"

#include <thread>

namespace tensoa::sched::detail {

ArenaScheduler::ArenaScheduler(Waiting* waiting)
    : waiting_(waiting), entrance_(std::make_shared<Entrance>()) {
  entrance_->scheduler = this;
}

ArenaScheduler::~ArenaScheduler() noexcept {
  const std::lock_guard lock(entrance_->mutex);
  entrance_->scheduler = nullptr;
}

void ArenaScheduler::run_tasks() {
  while (true) {
    look();
    group_.wait();
    if (is_finished_.load()) break;
    if (waiting_ != nullptr && waiting_->poll()) {
      std::this_thread::yield();
      continue;
    }
    // The flag before the last look, resume() and finish() the other way round: one of both sees
    // the other.
    entrance_->sleeps.store(true);
    const std::uint32_t seen = entrance_->wakes.load();
    if (ready_.is_empty() && !is_finished_.load()) entrance_->wakes.wait(seen);
    entrance_->sleeps.store(false);
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

void ArenaScheduler::look() {
  ready_.take([&](Continuation task) { spawn([this, task] { call(task); }); });
}

void ArenaScheduler::resume(Continuation task) noexcept {
  // Once the task is in the list, the run may end at any time.
  const std::shared_ptr<Entrance> entrance = entrance_;
  ready_.push(task);
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
  if (waiting_ != nullptr) {
    waiting_->when_settled(queue, std::move(call));
  } else {
    queue.when_settled(std::move(call));
  }
}

}  // namespace tensoa::sched::detail
