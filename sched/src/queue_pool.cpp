// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/sched/queue_pool.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tensoa/core/error.hpp"

namespace tensoa::sched {

struct QueuePool::Entry {
  explicit Entry(Device device) : queue(device) {}

  Queue queue;
  std::thread::id last_user;
};

struct QueuePool::State {
  std::mutex mutex;
  std::condition_variable is_given_back;
  std::vector<std::unique_ptr<Entry>> all;
  std::vector<Entry*> free;  ///< in the order in which they were given back

  /// One of `free`, which is not empty.
  Entry& pop() {
    const auto mine = std::ranges::find(free, std::this_thread::get_id(), &Entry::last_user);
    const auto chosen = mine != free.end() ? mine : free.begin();
    Entry& entry = **chosen;
    free.erase(chosen);
    entry.last_user = std::this_thread::get_id();
    return entry;
  }
};

QueuePool::QueuePool(Device device, std::size_t queues) : state_(std::make_shared<State>()) {
  if (queues == 0) {
    throw ConfigError("QueuePool of " + to_string(device) + ": got 0 queues, expected 1 or more");
  }
  for (std::size_t i = 0; i < queues; ++i) {
    state_->free.push_back(state_->all.emplace_back(std::make_unique<Entry>(device)).get());
  }
}

QueuePool::Loan QueuePool::take() {
  std::unique_lock lock(state_->mutex);
  state_->is_given_back.wait(lock, [&] { return !state_->free.empty(); });
  return {state_, state_->pop()};
}

std::optional<QueuePool::Loan> QueuePool::try_take() {
  const std::lock_guard lock(state_->mutex);
  if (state_->free.empty()) return std::nullopt;
  return Loan(state_, state_->pop());
}

Device QueuePool::device() const noexcept { return state_->all.front()->queue.device(); }
std::size_t QueuePool::size() const noexcept { return state_->all.size(); }

QueuePool::Loan::Loan(std::shared_ptr<State> state, Entry& entry) noexcept
    : state_(std::move(state)), entry_(&entry) {}

QueuePool::Loan::Loan(Loan&& other) noexcept
    : state_(std::move(other.state_)), entry_(std::exchange(other.entry_, nullptr)) {}

QueuePool::Loan& QueuePool::Loan::operator=(Loan&& other) noexcept {
  if (this != &other) {
    give_back();
    state_ = std::move(other.state_);
    entry_ = std::exchange(other.entry_, nullptr);
  }
  return *this;
}

const Queue& QueuePool::Loan::operator*() const noexcept { return entry_->queue; }

void QueuePool::Loan::give_back() noexcept {
  if (entry_ == nullptr) return;
  {
    const std::lock_guard lock(state_->mutex);
    state_->free.push_back(entry_);  // there is room: it was there before
  }
  state_->is_given_back.notify_one();
}

}  // namespace tensoa::sched
