// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensoa/core/queue.hpp"

namespace tensoa::sched {

/// Queue::wait() for tasks of oneTBB: until the work enqueued so far is done, the task is suspended,
/// and its thread takes others. On the CPU there is nothing to wait for, and it goes straight on.
///
///     scorer.enqueue(…);
///     sched::wait_suspended(queue);     // another event has the thread meanwhile
///     use(answers);
///
/// The task may go on in *another thread* of its arena. So across the call: hold no lock and no guard
/// of a thread (DeviceGuard, those of torch), keep no address of a thread_local, and do not call it
/// where an exception is being handled. What one task blocks on must not be held by a suspended one:
/// take as many queues from a QueuePool as there are events in flight.
///
/// @throws DeviceError when the work failed
///
/// *Threads*: from a task of oneTBB, as the callbacks of run_events() are. Each suspended task keeps
/// its stack (4 MB of address space with oneTBB's settings). AddressSanitizer and ThreadSanitizer do not
/// follow a switch of stacks in a oneTBB that was built without them.
void wait_suspended(const Queue& queue);

}  // namespace tensoa::sched
