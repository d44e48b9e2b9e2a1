// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>

#include "tensoa/core/device.hpp"
#include "tensoa/core/queue.hpp"

namespace tensoa {

/// A point in the work of a queue that another queue can wait for, without the host:
/// `consumer.wait_for(Event(producer))`. A cheap handle: copies stand for the same point.
///
/// *Lifetime*: may be destroyed before the point is reached, waits that are enqueued stay. A
/// borrowed event belongs to the caller and must outlive every copy.
class Event {
 public:
  /// The end of all work that `queue` has been given so far. On the CPU that is done already.
  /// @throws DeviceError
  explicit Event(const Queue& queue);

  // A move is a copy, as for Queue.
  Event(const Event&) noexcept = default;
  Event& operator=(const Event&) noexcept = default;
  // NOLINTNEXTLINE(performance-move-constructor-init)
  Event(Event&& other) noexcept : Event(std::as_const(other)) {}
  Event& operator=(Event&& other) noexcept { return *this = std::as_const(other); }
  ~Event() = default;

  /// A point over an event of the caller's.
  /// @param device the event's device; CUDA
  /// @param native_event `cudaEvent_t`, recorded; not copied, must outlive the object
  /// @throws ConfigError for a CPU device or no event; DeviceError when the device is not there
  static Event borrow(Device device, void* native_event);

  Device device() const noexcept { return device_; }

  /// Whether the work before this point is done, without waiting for it. @throws DeviceError when
  /// that work failed
  bool is_reached() const;

  /// Blocks the calling thread until the work before this point is done. @throws DeviceError when
  /// that work failed
  void wait() const;

  /// Makes a foreign stream (one that is not a tensoa queue) wait for this event, on the device. Does
  /// nothing for an event of the CPU.
  /// @param native_stream `cudaStream_t`; of the default ones (null, 1 and 2) that of this event's device,
  /// and of the handle 2 that of the calling thread
  /// @throws DeviceError
  void make_wait(void* native_stream) const;

  /// `cudaEvent_t` on CUDA, nullptr on the CPU.
  void* native_handle() const noexcept { return event_.get(); }

 private:
  Event(Device device, std::shared_ptr<void> event) noexcept;

  Device device_;
  std::shared_ptr<void> event_;
};

}  // namespace tensoa
