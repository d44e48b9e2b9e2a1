// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstddef>

namespace tensoa::tools {

/// Runs `function` in an arena of oneTBB with `threads` threads, the calling one among them.
template <class Function>
auto in_arena(int threads, const Function& function) {
  // Without this oneTBB starts at most one thread for each core, and prints a warning.
  const int most = std::max(threads, tbb::info::default_concurrency());
  const tbb::global_control enough(tbb::global_control::max_allowed_parallelism,
                                   static_cast<std::size_t>(most));
  tbb::task_arena arena(threads);
  return arena.execute(function);
}

}  // namespace tensoa::tools
