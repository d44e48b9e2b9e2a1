// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensoa/core/queue.hpp"

namespace tensoa::sched {

/// Waits until the work enqueued on `queue` so far is done, like Queue::wait(), but suspends the
/// task of oneTBB instead of blocking its thread, which runs other tasks meanwhile. Returns
/// immediately for a CPU queue.
///
///     scorer.enqueue(…);
///     sched::wait_suspended(queue);     // the thread works on another event meanwhile
///     use(answers);
///
/// The task may resume in *another thread* of its arena. Across the call hold no lock, no guard of
/// a thread (DeviceGuard, those of torch) and no reference to a thread_local, and do not call it
/// where an exception is being handled. A suspended task must not hold what another task blocks on:
/// give each event in flight a queue (the slots of run_events()).
///
/// @throws DeviceError when the work failed
///
/// *Threads*: from a task of oneTBB, such as `work` of run_events(). Each suspended task keeps its
/// stack (4 MB of address space with oneTBB's settings). AddressSanitizer and ThreadSanitizer do
/// not follow a switch of stacks in a oneTBB that was built without them.
void wait_suspended(const Queue& queue);

}  // namespace tensoa::sched
