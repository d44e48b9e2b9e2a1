// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/sched/event_loop.hpp"

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <optional>
#include <string>

#include "tensoa/core/error.hpp"

namespace tensoa::sched {

void run_events(std::size_t events, int threads,
                const std::function<void(std::size_t, std::size_t)>& work,
                const std::function<void(std::size_t)>& finish) {
  if (threads < 1)
    throw ConfigError("got " + std::to_string(threads) + " threads; expected 1 or more");
  // oneTBB gives no more threads than there are cores, and complains, unless it is told.
  std::optional<tbb::global_control> more_threads_than_cores;
  if (threads > tbb::info::default_concurrency()) {
    more_threads_than_cores.emplace(tbb::global_control::max_allowed_parallelism, threads);
  }
  tbb::task_arena arena(threads);
  std::size_t next = 0;
  const auto take = [&](tbb::flow_control& control) {
    if (next == events) control.stop();
    return next++;
  };
  const auto run = [&](std::size_t event) {
    const auto slot = static_cast<std::size_t>(tbb::this_task_arena::current_thread_index());
    // Isolated: while it waits for parallel work of its own it takes no other event, so the slot
    // stays its own.
    tbb::this_task_arena::isolate([&] { work(event, slot); });
    return event;
  };
  arena.execute([&] {
    tbb::parallel_pipeline(
        2 * static_cast<std::size_t>(threads),
        tbb::make_filter<void, std::size_t>(tbb::filter_mode::serial_in_order, take) &
            tbb::make_filter<std::size_t, std::size_t>(tbb::filter_mode::parallel, run) &
            tbb::make_filter<std::size_t, void>(tbb::filter_mode::serial_in_order, finish));
  });
}

}  // namespace tensoa::sched
