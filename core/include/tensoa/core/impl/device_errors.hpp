// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tensoa/core/error.hpp"
#include "tensoa/core/queue.hpp"

namespace tensoa::detail {

/// Throws the same error, of the same type, with `subject` before its message.
[[noreturn]] void rethrow(const DeviceError& error, const std::string& subject);

/// Ends with a DeviceLostError that begins with `subject` where the device of `queue` is lost: torch
/// and the code of packages make other errors of it. For `catch`.
void throw_if_lost(const Queue& queue, const std::string& subject);

}  // namespace tensoa::detail
