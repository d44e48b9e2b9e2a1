// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensoa/core/device.hpp"
#include "tensoa/core/queue.hpp"

namespace tensoa {

/// Makes a device the current one of the calling thread, for CUDA or HIP code of the caller's own
/// (kernel launches, library handles), and puts the one before back at the end of the scope.
///
///     const DeviceGuard guard(queue);
///     my_kernel<<<blocks, 256, 0, static_cast<cudaStream_t>(queue.native_handle())>>>(view);
///
/// tensoa's own calls need none of it: they find the device by their queue. For the CPU it does
/// nothing. torch's current stream is not changed; an engine does that itself.
/// A device that is put back is not touched: on CUDA no context is made there, since the primary context
/// of the device is pushed on the thread's stack of contexts. After cudaDeviceReset() that context is
/// gone, and with it the device for this process.
/// *Threads*: of this thread only; guards end in the reverse order of their beginning.
class [[nodiscard]] DeviceGuard {
 public:
  /// @throws DeviceError when the device is not there
  explicit DeviceGuard(Device device);
  /// The device of `queue`.
  explicit DeviceGuard(const Queue& queue) : DeviceGuard(queue.device()) {}
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int before_ = kNothing;

  static constexpr int kNothing = -1;  ///< there is nothing to put back
};

}  // namespace tensoa
