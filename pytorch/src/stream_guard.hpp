// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "tensoa/core/queue.hpp"

// The second seam of pytorch/: one implementation is linked, stream_guard_cuda.cpp or
// stream_guard_none.cpp, as core/src/device_ops.hpp.

namespace tensoa::pytorch {

/// Makes the queue's device and stream torch's current ones in this thread, both together, and puts
/// both back; keeps torch within the device's budget meanwhile. Does nothing for a CPU queue.
class StreamGuard {
 public:
  explicit StreamGuard(const Queue& queue);
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

  /// The stream of the innermost guard of this thread; nullptr without one.
  static void* current() noexcept;

 private:
  struct Switched;
  alignas(std::max_align_t) std::array<std::byte, 128> memory_;  ///< no allocation in each call
  Switched* switched_ = nullptr;                                 ///< in memory_
};

}  // namespace tensoa::pytorch
