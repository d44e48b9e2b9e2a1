// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

#include "tensoa/core/device.hpp"

namespace tensoa {

class Event;

/// Work on one device, in order. A cheap handle: copies stand for the same queue.
///
/// *Lifetime*: an owned stream lives until the last copy is gone; a borrowed one belongs to the
/// caller and must outlive every copy.
/// *Stream order*: on CUDA, calls with a queue only enqueue. On the CPU the work runs in the
/// calling thread and is complete when the call returns.
class Queue {
 public:
  /// Makes a new queue on `device`; on CUDA a new non-blocking stream.
  /// @throws DeviceError when the device is not there; DeviceFullError when it cannot make a stream
  explicit Queue(Device device);

  // A move is a copy: a queue that was moved from would be the null stream.
  Queue(const Queue&) noexcept = default;
  Queue& operator=(const Queue&) noexcept = default;
  // NOLINTNEXTLINE(performance-move-constructor-init)
  Queue(Queue&& other) noexcept : Queue(std::as_const(other)) {}
  Queue& operator=(Queue&& other) noexcept { return *this = std::as_const(other); }
  ~Queue() = default;

  /// A queue over a stream of the caller's.
  /// @param device the stream's device; CUDA
  /// @param native_stream `cudaStream_t` (`hipStream_t` in a build for HIP); not copied, must outlive
  /// the queue. The handle 1 (`cudaStreamLegacy`) names the legacy default stream and is accepted: for callers
  /// whose data is made there. It waits for every other blocking stream, as they do for it.
  /// @throws ConfigError for a CPU device, for the null stream, which orders itself with all others, and
  /// for the handle 2, the per-thread default stream, which is another stream in each thread: models keep
  /// memory for each handle, and a queue may be used from any thread (Event::make_wait accepts it);
  /// DeviceError when the stream belongs to another device or, as far as the driver reports it, is
  /// destroyed.
  static Queue borrow(Device device, void* native_stream);

  Device device() const noexcept { return device_; }

  /// `cudaStream_t` on CUDA, nullptr on the CPU.
  void* native_handle() const noexcept { return stream_.get(); }

  /// Blocks the calling thread until all work enqueued so far is done. @throws DeviceError when it
  /// failed.
  void wait() const;

  /// Calls `call` once, when all work enqueued so far is done or has failed; wait() then returns
  /// immediately and throws if it failed. Does not block, so that a scheduler can run other work
  /// meanwhile: sched::wait_suspended does so with oneTBB.
  ///
  /// On the CPU the callback runs immediately, in the calling thread. On CUDA a thread of the driver
  /// runs it, and work enqueued later starts after it: it should only hand over to a scheduler. The
  /// callback must not throw (the process would end), block, or call the GPU runtime or tensoa. This
  /// also applies to destructors of its captures, before and after the call: a Queue or Buffer whose
  /// last copy it holds would be freed there.
  /// @throws ConfigError for an empty function; DeviceError where nothing can be enqueued: the call is
  /// then not made
  /// *Lifetime*: a borrowed stream must live until the call.
  void when_done(std::function<void()> call) const;

  /// As when_done(); the call also receives the DeviceError that the work failed with, or nullptr. It may
  /// read that error and pass it on.
  void when_settled(std::function<void(std::exception_ptr failure)> call) const;

  /// Work enqueued from now on starts after `event`. Does not block; enqueues on CUDA, on the same
  /// device or another.
  /// @throws ConfigError where a CPU queue would have to wait for a GPU (its owner can: wait());
  /// DeviceError
  void wait_for(const Event& event) const;

 private:
  Queue(Device device, std::shared_ptr<void> stream) noexcept;

  Device device_;
  std::shared_ptr<void> stream_;
};

/// How a foreign queue type (alpaka's, the caller's own) is converted to a Queue. Calls that accept a
/// QueueLike then accept it as it is.
///
///     template <>
///     struct tensoa::QueueTraits<MyQueue> {
///       static Queue get(const MyQueue& queue) {
///         return Queue::borrow(Device::cuda(queue.device()), queue.stream());
///       }
///     };
///
/// `get` returns a Queue, or a const reference to one that the foreign queue keeps. It is called
/// once in each call that is given the foreign queue; a caller who repeats a call in a hot loop gets
/// the Queue once and passes that. What it throws reaches the caller.
/// *Stream order*: a foreign CPU queue must run its work in the calling thread and wait for it;
/// refuse any other with a ConfigError.
/// *Lifetime*: Model::to keeps the Queue, never the foreign queue, whose stream must outlive the
/// handle's calls.
template <class Q>
struct QueueTraits;

template <>
struct QueueTraits<Queue> {
  static const Queue& get(const Queue& queue) noexcept { return queue; }
};

/// A type with a specialization of QueueTraits.
template <class Q>
concept QueueLike = requires(const Q& queue) {
  { QueueTraits<Q>::get(queue) } -> std::convertible_to<const Queue&>;
};

}  // namespace tensoa
