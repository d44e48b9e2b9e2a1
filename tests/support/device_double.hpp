// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

namespace tensoa::test {

/// Simulated GPUs: an implementation of core/src/device_ops.hpp over host memory. A program that
/// links `tensoa_device_double` gets it instead of the real one, on any machine. Work that is
/// enqueued is done immediately, in the order of streams and events, unless the device is held.
/// *Threads*: safe.
struct DeviceDouble {
  /// `gpus` new devices with `bytes` of memory each; what was made before is gone.
  static void reset(int gpus = 2, std::size_t bytes = std::size_t{1} << 30U);

  /// The device takes work and does none of it, until it is let go.
  static void hold(int device);
  static void let_go(int device);

  /// From now on every call on the device fails, as after a kernel that crashed.
  static void lose(int device);

  /// Until reset(), the host has no memory to keep a function of when_done in: std::bad_alloc.
  static void take_host_memory();

  /// Ends a stream as its owner would, behind tensoa's back.
  static void destroy_stream(void* stream);

  /// Adds the work of a kernel, which the host does, to a stream.
  /// @param memory an address in each memory that it uses @throws DeviceError as a GPU that cannot reach it
  static void enqueue(int device, void* stream, const std::vector<const void*>& memory,
                      std::function<void()> work);
  static std::size_t kernels();  ///< that were enqueued so

  /// The time of calls of the runtime, as time that the calling thread sleeps, one call at a time on a device, as in a
  /// driver; nothing after reset().
  struct Times {
    std::chrono::nanoseconds context{};  ///< the first call on a device
    std::chrono::nanoseconds query{};    ///< querying an event
    std::chrono::nanoseconds call{};     ///< any other
  };
  static void take_time(const Times& times);
  /// Adds work of the device that takes it so long, and is one piece after another there. It ends by the clock.
  /// @param calls of the runtime that enqueue it
  static void enqueue(int device, void* stream, std::chrono::nanoseconds duration, int calls);

  static std::size_t used(int device);  ///< bytes
  static std::size_t streams();         ///< that are there, on all devices, but the default ones
  static int current();                 ///< device of the calling thread
};

}  // namespace tensoa::test
