// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/sched/waiting.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <iterator>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tensoa/core/error.hpp"
#include "tensoa/core/event.hpp"

namespace tensoa::sched {
namespace {

using Call = std::function<void(std::exception_ptr)>;
using Clock = std::chrono::steady_clock;

// A question holds a lock of the driver that launches need, for some 1 us. After a round follows a pause of this length
// for each event that was not reached, so that questions take a fifth of the time at most.
constexpr std::chrono::microseconds kPause{4};

struct Ticket {
  Event event;
  Call call;
};

/// nullptr: reached; an error; nothing: not yet.
std::optional<std::exception_ptr> state_of(const Event& event) noexcept {
  try {
    if (!event.is_reached()) return std::nullopt;
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

class Callback final : public Waiting {
 public:
  void when_settled(const Queue& queue, Call call) override { queue.when_settled(std::move(call)); }
};

class Blocking final : public Waiting {
 public:
  void when_settled(const Queue& queue, Call call) override {
    std::exception_ptr failure;
    try {
      queue.wait();
    } catch (...) {
      failure = std::current_exception();
    }
    call(failure);
  }
};

class Polling final : public Waiting {
 public:
  void when_settled(const Queue& queue, Call call) override {
    Ticket ticket{Event(queue), std::move(call)};
    const std::lock_guard lock(mutex_);
    tickets_.push_back(std::move(ticket));
    outstanding_.fetch_add(1);
  }

  bool poll() override {
    if (outstanding_.load() == 0) return false;
    // One thread asks at a time; the others have better things to do.
    std::unique_lock asking(asking_, std::try_to_lock);
    if (!asking) return true;
    if (Clock::now() < next_) return true;
    {
      const std::lock_guard lock(mutex_);
      asked_.insert(asked_.end(), std::make_move_iterator(tickets_.begin()),
                    std::make_move_iterator(tickets_.end()));
      tickets_.clear();
    }
    for (std::size_t ticket = 0; ticket < asked_.size();) {
      const auto state = state_of(asked_[ticket].event);
      if (!state) {
        ++ticket;
        continue;
      }
      const Call call = std::move(asked_[ticket].call);
      std::swap(asked_[ticket], asked_.back());
      asked_.pop_back();
      outstanding_.fetch_sub(1);
      call(*state);
    }
    next_ = Clock::now() + asked_.size() * kPause;
    return outstanding_.load() > 0;
  }

 private:
  std::mutex mutex_;
  std::vector<Ticket> tickets_;  ///< new ones
  std::mutex asking_;            ///< of what follows
  Clock::time_point next_;
  std::vector<Ticket> asked_;
  std::atomic<std::size_t> outstanding_ = 0;
};

class Threads final : public Waiting {
 public:
  explicit Threads(int threads) {
    for (int thread = 0; thread < threads; ++thread) {
      threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
    }
  }

  void when_settled(const Queue& queue, Call call) override {
    if (queue.device().is_cpu()) return call(nullptr);
    Ticket ticket{Event(queue), std::move(call)};
    {
      const std::lock_guard lock(mutex_);
      tickets_.push_back(std::move(ticket));
    }
    there_are_.notify_one();
  }

 private:
  void work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (there_are_.wait(lock, stop, [&] { return !tickets_.empty(); })) {
      const Ticket ticket = std::move(tickets_.front());
      tickets_.pop_front();
      lock.unlock();
      std::exception_ptr failure;
      try {
        ticket.event.wait();
      } catch (...) {
        failure = std::current_exception();
      }
      ticket.call(failure);
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any there_are_;
  std::deque<Ticket> tickets_;
  std::vector<std::jthread> threads_;  ///< last: they end before the rest goes
};

}  // namespace

std::unique_ptr<Waiting> wait_by_callback() { return std::make_unique<Callback>(); }

std::unique_ptr<Waiting> wait_by_blocking() { return std::make_unique<Blocking>(); }

std::unique_ptr<Waiting> wait_by_polling() { return std::make_unique<Polling>(); }

std::unique_ptr<Waiting> wait_by_threads(int threads) {
  if (threads < 1) {
    throw ConfigError("wait_by_threads: got " + std::to_string(threads) +
                      " threads, expected at least 1");
  }
  return std::make_unique<Threads>(threads);
}

}  // namespace tensoa::sched
