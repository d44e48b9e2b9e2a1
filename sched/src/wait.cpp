// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/sched/wait.hpp"

#include <tbb/task.h>

namespace tensoa::sched {

void wait_suspended(const Queue& queue) {
  if (!queue.device().is_cpu()) {
    // By value: the task may be gone before when_done() has returned.
    tbb::task::suspend([queue](tbb::task::suspend_point task) {
      try {
        queue.when_done([task] { tbb::task::resume(task); });
      } catch (...) {             // oneTBB lets nothing pass here; without memory, for example
        tbb::task::resume(task);  // wait() waits, or says what is wrong
      }
    });
  }
  queue.wait();
}

}  // namespace tensoa::sched
