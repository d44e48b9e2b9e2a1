// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <mutex>
#include <unordered_map>

#include "tensoa/core/device.hpp"
#include "tensoa/core/memory_budget.hpp"
#include "tensoa/pytorch/runtime.hpp"

namespace tensoa::pytorch {

/// Between torch and the caller's allocator: stores the owner of each block and the stream in whose order it
/// is freed. Needs neither torch nor CUDA.
///
/// A block stays in the order of one stream only if it was allocated and is freed in calls of
/// tensoa's on that stream, and no other stream was recorded. Every other one is freed after a wait,
/// because torch frees late what it caches itself (scratch memory, workspaces of cuBLAS, weights): the
/// stream may have been destroyed, and weights were read on all streams.
/// *Threads*: safe.
class MemoryBridge {
 public:
  /// @param current_stream the stream of the call that runs in this thread, nullptr without one
  /// @param wait blocks until all work on a device is done; must not throw
  MemoryBridge(TorchAllocator allocator, std::function<void*()> current_stream,
               std::function<void(Device)> wait);

  /// @param stream torch's current one
  /// @throws DeviceFullError beyond the budget, or where the caller's allocator has nothing;
  ///     ConfigError where the memory is not aligned
  void* allocate(std::size_t bytes, Device device, void* stream);

  /// @param data of allocate; nullptr does nothing
  void free(void* data) noexcept;

  /// A second stream uses `data`.
  void record(const void* data);

  TorchMemory figures(Device device) const;
  void reset_peak(Device device);

 private:
  struct Allocation {
    MemoryCharge charge;  ///< of the device, for the bytes of the block
    void* stream;         ///< nullptr: of no call
  };

  TorchAllocator allocator_;
  std::function<void*()> current_stream_;
  std::function<void(Device)> wait_;
  mutable std::mutex mutex_;
  std::unordered_map<const void*, Allocation> blocks_;
  std::array<TorchMemory, kMaxDevices> figures_{};
};

}  // namespace tensoa::pytorch
