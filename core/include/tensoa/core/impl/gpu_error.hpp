// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tensoa/core/device.hpp"

namespace tensoa::detail {

/// Ends with the typed error of a call of the GPU runtime that failed, also one of another module's
/// own. The runtime's note of it is taken away, since it is reported here.
/// @param device that the call was about
/// @param what was tried, "launching a kernel"
/// @param status `cudaError_t` or `hipError_t`, not success
/// @throws DeviceFullError, DeviceLostError or another DeviceError
[[noreturn]] void throw_gpu_error(Device device, const std::string& what, int status);

}  // namespace tensoa::detail
