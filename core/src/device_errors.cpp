// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/device_errors.hpp"

#include "tensoa/core/event.hpp"

namespace tensoa {

void rethrow(const DeviceError& error, const std::string& subject) {
  const std::string message = subject + error.what();
  if (dynamic_cast<const DeviceFullError*>(&error) != nullptr) throw DeviceFullError(message);
  if (dynamic_cast<const DeviceLostError*>(&error) != nullptr) throw DeviceLostError(message);
  throw DeviceError(message);
}

void throw_if_lost(const Queue& queue, const std::string& subject) {
  try {
    static_cast<void>(Event(queue));  // any call finds out
  } catch (const DeviceLostError& error) {
    rethrow(error, subject);
  } catch (const Error&) {
    // Another error: the caller reports the one that came first.
  }
}

}  // namespace tensoa
