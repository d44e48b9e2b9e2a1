// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/sched/event_loop.hpp"

#include <tbb/parallel_pipeline.h>
#include <tbb/task_arena.h>

#include <string>

#include "tensoa/core/error.hpp"

namespace tensoa::sched {

void run_events(std::size_t events, int threads, const std::function<void(std::size_t, std::size_t)>& work,
                const std::function<void(std::size_t)>& finish) {
  if (threads < 1) throw ConfigError("got " + std::to_string(threads) + " threads; expected 1 or more");
  tbb::task_arena arena(threads);
  std::size_t next = 0;
  const auto take = [&](tbb::flow_control& control) {
    if (next == events) control.stop();
    return next++;
  };
  const auto run = [&](std::size_t event) {
    work(event, static_cast<std::size_t>(tbb::this_task_arena::current_thread_index()));
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
