// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/device_guard.hpp"

#include "device_ops.hpp"

namespace tensoa {

DeviceGuard::DeviceGuard(Device device) {
  require_available(device);
  if (!device.is_cpu()) before_ = detail::gpu_enter(device.index);
}

DeviceGuard::~DeviceGuard() {
  if (before_ != kNothing) detail::gpu_leave(before_);
}

}  // namespace tensoa
