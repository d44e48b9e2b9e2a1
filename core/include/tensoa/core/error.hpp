// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensoa/core/impl/cpp20.hpp"  // first

#include <stdexcept>

/// @file
/// The errors that tensoa throws. Each message has what was requested, what was got, what was expected
/// and what to do. Failures that are expected at run time are returned as a `Result` (result.hpp)
/// instead.

namespace tensoa {

/// Base of all errors of this library.
class Error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A wrong option or a call that can never work (an unknown device name, a model without a queue).
class ConfigError : public Error {
  using Error::Error;
};

/// Input data that cannot be used: a file that is missing, empty, truncated or not what it should
/// be.
class InputError : public Error {
  using Error::Error;
};

/// An output that cannot be written. Nothing half-written is left behind.
class OutputError : public Error {
  using Error::Error;
};

/// A model file that is missing, truncated, of another kind, or has another signature.
class LoadError : public Error {
  using Error::Error;
};

/// Columns that cannot be bound to a model's arguments: dtype, spacing, length, device or count
/// differ.
class BindingError : public Error {
  using Error::Error;
};

/// A device that is not there, is full, or failed; a queue of another device than the data.
class DeviceError : public Error {
  using Error::Error;
};

/// The memory of a device, or its budget, does not hold what was requested. Nothing was allocated;
/// the device works on.
class DeviceFullError : public DeviceError {
  using DeviceError::DeviceError;
};

/// A device that this process can use no more: it fell off the bus, or a kernel on it crashed and
/// took the process's context there with it. All later calls on it end the same way; other devices
/// work on. Memory on it is gone, objects that hold some may be destroyed as ever.
class DeviceLostError : public DeviceError {
  using DeviceError::DeviceError;
};

/// A model that failed while it ran.
class EngineError : public Error {
  using Error::Error;
};

}  // namespace tensoa
