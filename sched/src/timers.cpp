// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "timers.hpp"

#include <algorithm>
#include <utility>

namespace tensoa::sched::detail {
namespace {

/// For a heap with the earliest at the front.
constexpr auto kIsLater = [](const auto& a, const auto& b) { return a.when > b.when; };

}  // namespace

void Timers::set_next() {
  next_.store(timers_.empty() ? kNever : timers_.front().when.time_since_epoch().count());
}

void Timers::add(Clock::time_point when, std::function<void()> call) {
  const std::lock_guard lock(mutex_);
  timers_.push_back({when, std::move(call)});
  std::ranges::push_heap(timers_, kIsLater);
  set_next();
}

bool Timers::call_due() {
  const Clock::rep next = next_.load();
  if (next == kNever) return false;
  const Clock::time_point now = Clock::now();
  if (now.time_since_epoch().count() < next) return true;
  while (true) {
    std::function<void()> call;
    {
      const std::lock_guard lock(mutex_);
      if (timers_.empty() || timers_.front().when > now) return !timers_.empty();
      std::ranges::pop_heap(timers_, kIsLater);
      call = std::move(timers_.back().call);
      timers_.pop_back();
      set_next();
    }
    call();
  }
}

}  // namespace tensoa::sched::detail
