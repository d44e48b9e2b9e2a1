// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>

namespace tensoa::sched {

/// Works on `events` events with at most `threads` threads of oneTBB, and finishes them in order.
///
/// @param threads at least 1; with 1 everything runs in the calling thread
/// @param in_flight at most so many events are begun and not finished; at least `threads`. Twice as
/// many keep the threads busy while an event that is done waits for its turn to finish, or is
/// suspended
/// @param work called once for each event, as `work(event, slot)`; several at a time, each with a
/// slot of its own: what cannot be shared (queues, workspaces) is kept by slot. It is the lowest that
/// is free, so below `threads` where no work is suspended (wait_suspended()), else below `in_flight`
/// @param finish called once for each event in order, never two at a time, after its work
/// @throws ConfigError when threads < 1 or in_flight < threads
///
/// *Threads*: returns when all is finished. The first exception of a callback ends the loop and is
/// thrown here.
void run_events(std::size_t events, int threads, int in_flight,
                const std::function<void(std::size_t event, std::size_t slot)>& work,
                const std::function<void(std::size_t event)>& finish);

}  // namespace tensoa::sched
