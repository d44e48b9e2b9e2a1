// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <cstddef>
#include <optional>

#include "tensoa/sched/event_pipeline.hpp"

namespace tensoa::test {

/// A source for run_events(): the numbers below `events`.
inline auto first_events(std::size_t events) {
  return [next = std::size_t{0}, events]() mutable -> std::optional<std::size_t> {
    if (next == events) return {};
    return next++;
  };
}

/// Runs `function` in an arena of oneTBB that has `threads` threads on any machine.
template <class Function>
auto in_arena(int threads, const Function& function) {
  const tbb::global_control enough(tbb::global_control::max_allowed_parallelism,
                                   static_cast<std::size_t>(threads));
  tbb::task_arena arena(threads);
  return arena.execute(function);
}

/// Runs `work(event, slot)` over the numbers below `events` in an arena of `threads`.
/// @return how many events were delivered, which happened in their order
/// @throws the first error of `work`
template <class Work>
std::size_t run_work(std::size_t events, int threads, std::size_t in_flight, const Work& work) {
  std::size_t delivered = 0;
  in_arena(threads, [&] {
    return sched::run_events(
        first_events(events),
        [&](std::size_t event, std::size_t slot) {
          work(event, slot);
          return event;
        },
        [&](std::size_t, const Result<std::size_t>& result) {
          if (result.value() == delivered) ++delivered;
        },
        {.in_flight = in_flight});
  });
  return delivered;
}

}  // namespace tensoa::test
