// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/threads.hpp"

#include <ATen/Parallel.h>

#include <mutex>

namespace tensoa::pytorch {

void pin_torch_to_one_thread() {
  static std::once_flag process;
  std::call_once(process, [] {
    try {
      at::set_num_interop_threads(1);
    } catch (const c10::Error&) {  // too late: the host program has chosen its own number
    }
  });
  thread_local const bool kHeld = (at::set_num_threads(1), true);
  static_cast<void>(kHeld);
}

}  // namespace tensoa::pytorch
