// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "tensoa/core/device.hpp"

namespace tensoa {

/// Calls of the threads of this process in the driver of a GPU, while they were counted. Seconds a call that grow with
/// the threads are threads that wait for each other there.
struct DriverCalls {
  /// Times that a thread went to the driver: a call, or what a DeviceGuard encloses, such as a burst of kernel launches.
  std::uint64_t calls = 0;
  double seconds = 0;          ///< in these, summed over threads; waits for the GPU included
  std::uint64_t switches = 0;  ///< calls by a thread whose call before was to another GPU
};

/// Counts from now on, or no longer, which costs two readings of the clock a call. *Threads*: any.
void count_driver_calls(bool is_counting) noexcept;

/// Returns what was counted so far; nothing of the CPU. @throws DeviceError for a device that is not there
/// *Threads*: any.
DriverCalls driver_calls(Device device);

}  // namespace tensoa
