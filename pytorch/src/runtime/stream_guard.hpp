// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "tensoa/core/queue.hpp"

namespace tensoa::pytorch {

/// Makes the queue's device and stream torch's current ones in this thread, both together, and puts
/// both back; keeps torch within the device's budget meanwhile. Does nothing for a CPU queue. Goes
/// through the guard that the libtorch of the program has registered for its device type "cuda": the same
/// code for NVIDIA's GPUs and for AMD's.
class StreamGuard {
 public:
  /// @throws DeviceLostError; DeviceError where this libtorch is for the CPU only
  explicit StreamGuard(const Queue& queue);
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

  /// The stream of the innermost guard of this thread; nullptr without one.
  static void* current() noexcept;

  /// The stream of a queue for torch: its handle, but the legacy default stream is null.
  static void* torch_stream(const Queue& queue) noexcept;

 private:
  struct Switched;
  alignas(std::max_align_t) std::array<std::byte, 128> memory_;  ///< no allocation in each call
  Switched* switched_ = nullptr;                                 ///< in memory_
};

/// Waits for all work on a GPU; a lost one has none, nor has the CPU.
void wait_for_device(Device device) noexcept;

}  // namespace tensoa::pytorch
