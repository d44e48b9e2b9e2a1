// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory_resource>
#include <utility>

#include "tensoa/core/queue.hpp"

namespace tensoa {

/// Allocates and frees memory of a queue's device in the order of the queue: for what is made for each event. Neither
/// waits for the device (cudaMallocFromPoolAsync).
///
///     QueueMemory memory(queue);
///     Buffer scores(queue.device(), bytes, memory);
///
/// A pool keeps up to kKept freed bytes on each GPU, for all queues; these count for no budget.
/// *Lifetime*: outlives its buffers. A borrowed stream outlives this; where it does not, freeing waits for the device.
/// *Stream order*: work on other queues that uses the memory begins after its allocation and ends before it is freed:
/// Queue::wait_for.
/// *Threads*: safe.
class QueueMemory final : public std::pmr::memory_resource {
 public:
  static constexpr std::size_t kKept = std::size_t{256} << 20U;

  explicit QueueMemory(Queue queue) noexcept : queue_(std::move(queue)) {}

  const Queue& queue() const noexcept { return queue_; }

 private:
  /// @throws DeviceFullError, DeviceError
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* data, std::size_t bytes, std::size_t alignment) override;
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  Queue queue_;
};

}  // namespace tensoa
