// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tensoa/core/device.hpp"
#include "tensoa/core/error.hpp"

/// @file
/// Typed errors for code that calls a GPU runtime, or another library on a GPU.

namespace tensoa {

class Queue;

/// Throws the typed error of a failed call of the GPU runtime, made by this library or by another one, and clears
/// the error that the runtime stores for the thread. Builds for GPUs only.
/// @param device that the call was about
/// @param what was tried: "launching a kernel"
/// @param status `cudaError_t` or `hipError_t`, not success
/// @throws DeviceFullError, DeviceLostError or another DeviceError
[[noreturn]] void throw_gpu_error(Device device, const std::string& what, int status);

/// Throws an error of the type of `error`, with `subject` before its message.
[[noreturn]] void rethrow(const DeviceError& error, const std::string& subject);

/// Throws a DeviceLostError that begins with `subject` if the device of `queue` is lost; otherwise returns. Call it
/// in a `catch` block: torch and the code of packages report a lost device as errors of other types.
void throw_if_lost(const Queue& queue, const std::string& subject);

}  // namespace tensoa
