// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>

#include "tensoa/sched/order.hpp"

namespace tensoa::sched::detail {

/// Gives events to one sink, one at a time, in its order. The thread that brings an event gives all
/// that are due, unless another thread is at it.
template <class Slot>
class SinkLane {
 public:
  SinkLane(Order order, std::function<void(Slot&)> give) : order_(order), give_(std::move(give)) {}

  /// `slot` must stay as it is until `give` was called for it.
  void add(Slot& slot) {
    std::unique_lock lock(mutex_);
    if (order_ == Order::kInput) {
      early_.emplace(slot.number, &slot);
    } else {
      due_.push_back(&slot);
    }
    if (is_busy_) return;
    is_busy_ = true;
    while (Slot* const next = take()) {
      lock.unlock();
      give_(*next);
      lock.lock();
    }
    is_busy_ = false;
  }

 private:
  Slot* take() {
    if (order_ == Order::kInput && !early_.empty() && early_.begin()->first == next_) {
      due_.push_back(early_.begin()->second);
      early_.erase(early_.begin());
      ++next_;
    }
    if (due_.empty()) return nullptr;
    Slot* const slot = due_.front();
    due_.pop_front();
    return slot;
  }

  Order order_;
  std::function<void(Slot&)> give_;
  std::mutex mutex_;
  bool is_busy_ = false;
  std::deque<Slot*> due_;
  std::map<std::size_t, Slot*> early_;  ///< by number; those before them are missing
  std::size_t next_ = 0;
};

}  // namespace tensoa::sched::detail
