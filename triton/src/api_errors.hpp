// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

#include "triton_api.hpp"

/// @file
/// Errors of Triton as exceptions, and exceptions as errors of Triton.

namespace tensoa::triton {

/// An error of Triton, or one for it: a code of TRITONSERVER_ERROR_*.
class ApiError : public std::runtime_error {
 public:
  ApiError(int code, const std::string& what) : std::runtime_error(what), code_(code) {}
  int code() const noexcept { return code_; }

 private:
  int code_;
};

/// Deletes `error`. @throws ApiError with its code and text, after "WHAT: ", where it is not nullptr
void require_ok(TRITONSERVER_Error* error, const char* what);

/// Logs `error` and deletes it; nothing for nullptr. For calls after which there is nothing else to do.
void log_failure(TRITONSERVER_Error* error, const char* what) noexcept;

/// The error that stands for the exception in flight: wrong input is INVALID_ARG, memory that is full UNAVAILABLE,
/// everything else INTERNAL. Called in a handler. The caller deletes it.
TRITONSERVER_Error* current_error() noexcept;

/// Calls `action()`, and returns nullptr or the error that stands for what it threw.
template <class Action>
TRITONSERVER_Error* guarded(const Action& action) noexcept {
  try {
    action();
    return nullptr;
  } catch (...) {
    return current_error();
  }
}

}  // namespace tensoa::triton
