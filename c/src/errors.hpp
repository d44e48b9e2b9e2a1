// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

#include "tensoa.h"

// Errors of C++ as statuses.

namespace tensoa::c {

/// Keeps what an exception says for tensoa_last_error(). @return its status
tensoa_status caught(std::exception_ptr error) noexcept;

/// Runs `function()`. @return the status of what it throws
template <class Function>
tensoa_status guarded(const Function& function) noexcept {
  try {
    function();
    return TENSOA_OK;
  } catch (...) {
    return caught(std::current_exception());
  }
}

}  // namespace tensoa::c
