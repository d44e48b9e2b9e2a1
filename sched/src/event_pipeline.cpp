// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/sched/event_pipeline.hpp"

#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <algorithm>
#include <exception>
#include <mutex>

#include "first_failure.hpp"

namespace tensoa::sched::detail {
namespace {

/// Hands out the numbers from 0.
class Numbers {
 public:
  explicit Numbers(std::size_t count) : is_taken_(count) {}

  /// The lowest that is free, of which there is one.
  std::size_t take() {
    const std::lock_guard lock(mutex_);
    const auto free = std::ranges::find(is_taken_, false);
    *free = true;
    return static_cast<std::size_t>(free - is_taken_.begin());
  }

  void give_back(std::size_t number) {
    const std::lock_guard lock(mutex_);
    is_taken_[number] = false;
  }

 private:
  std::mutex mutex_;
  std::vector<bool> is_taken_;
};

}  // namespace

std::size_t events_in_flight(std::size_t asked_for) {
  if (asked_for > 0) return asked_for;
  return 2 * static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
}

DeviceFullError no_memory_for_event() {
  return DeviceFullError(
      "there is not enough memory for this event; fewer events in flight, or fewer threads, may "
      "help");
}

bool run_stages(const EventStages& stages, std::size_t in_flight, const EventOptions& options) {
  Numbers places(in_flight);
  Numbers slots(in_flight);
  FirstFailure failure;
  bool has_sink = true;  // until it throws
  bool is_stopped = false;
  const auto take = [&](tbb::flow_control& control) -> std::size_t {
    is_stopped = options.stop.stop_requested();
    if (!is_stopped && !failure.is_there()) {
      try {
        const std::size_t place = places.take();
        if (stages.take(place)) return place;
      } catch (...) {
        failure.keep(std::current_exception());
      }
    }
    control.stop();
    return 0;
  };
  const auto work = [&](std::size_t place) {
    const std::size_t slot = slots.take();
    try {
      // Isolated: a thread that waits for parallel work of this event takes no other one on top.
      tbb::this_task_arena::isolate([&] { stages.work(place, slot); });
    } catch (...) {
      failure.keep(std::current_exception());
    }
    slots.give_back(slot);
    return place;
  };
  const auto deliver = [&](std::size_t place) {
    try {
      if (has_sink) stages.deliver(place);
    } catch (...) {
      has_sink = false;
      failure.keep(std::current_exception());
    }
    places.give_back(place);
  };
  const auto order = options.order == Order::kInput ? tbb::filter_mode::serial_in_order
                                                    : tbb::filter_mode::serial_out_of_order;
  tbb::task_group_context context(tbb::task_group_context::isolated);
  tbb::parallel_pipeline(
      in_flight,
      tbb::make_filter<void, std::size_t>(tbb::filter_mode::serial_in_order, take) &
          tbb::make_filter<std::size_t, std::size_t>(tbb::filter_mode::parallel, work) &
          tbb::make_filter<std::size_t, void>(order, deliver),
      context);
  failure.rethrow();
  return is_stopped;
}

}  // namespace tensoa::sched::detail
