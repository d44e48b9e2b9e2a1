// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/sched/event_loop.hpp"

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tensoa/core/error.hpp"

namespace tensoa::sched {
namespace {

/// One for each event in flight.
class Slots {
 public:
  explicit Slots(std::size_t slots) : is_taken_(slots) {}

  /// The lowest that is free, of which there is one.
  std::size_t take() {
    const std::lock_guard lock(mutex_);
    const auto free = std::find(is_taken_.begin(), is_taken_.end(), false);
    *free = true;
    return static_cast<std::size_t>(free - is_taken_.begin());
  }

  void give_back(std::size_t slot) {
    const std::lock_guard lock(mutex_);
    is_taken_[slot] = false;
  }

 private:
  std::mutex mutex_;
  std::vector<bool> is_taken_;
};

}  // namespace

void run_events(std::size_t events, int threads, int in_flight,
                const std::function<void(std::size_t, std::size_t)>& work,
                const std::function<void(std::size_t)>& finish) {
  if (threads < 1)
    throw ConfigError("got " + std::to_string(threads) + " threads; expected 1 or more");
  if (in_flight < threads)
    throw ConfigError("got " + std::to_string(in_flight) + " events in flight; expected " +
                      std::to_string(threads) + " or more, one for each thread");
  // oneTBB gives no more threads than there are cores, and complains, unless it is told.
  std::optional<tbb::global_control> more_threads_than_cores;
  if (threads > tbb::info::default_concurrency()) {
    more_threads_than_cores.emplace(tbb::global_control::max_allowed_parallelism, threads);
  }
  tbb::task_arena arena(threads);
  Slots slots(static_cast<std::size_t>(in_flight));
  std::size_t next = 0;
  const auto take = [&](tbb::flow_control& control) {
    if (next == events) control.stop();
    return next++;
  };
  const auto run = [&](std::size_t event) {
    const std::size_t slot = slots.take();
    // Isolated: a thread that waits for parallel work of this event takes no other one on top.
    tbb::this_task_arena::isolate([&] { work(event, slot); });
    slots.give_back(slot);  // after an exception nobody needs it
    return event;
  };
  arena.execute([&] {
    tbb::parallel_pipeline(
        static_cast<std::size_t>(in_flight),
        tbb::make_filter<void, std::size_t>(tbb::filter_mode::serial_in_order, take) &
            tbb::make_filter<std::size_t, std::size_t>(tbb::filter_mode::parallel, run) &
            tbb::make_filter<std::size_t, void>(tbb::filter_mode::serial_in_order, finish));
  });
}

}  // namespace tensoa::sched
