// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tensoa.h"

namespace tensoa::test {

/// A handle that is freed at the end.
template <class Handle, void (*kFree)(Handle*)>
struct Owner {
  Owner() = default;
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  ~Owner() { kFree(handle); }
  operator Handle*() const { return handle; }  // NOLINT(google-explicit-constructor)

  Handle* handle = nullptr;
};
using ModelOwner = Owner<tensoa_model, tensoa_free_model>;
using CallOwner = Owner<tensoa_call, tensoa_free_call>;
using QueueOwner = Owner<tensoa_queue, tensoa_free_queue>;

/// The message of a failed call, after its status.
inline std::string said(tensoa_status status) {
  return std::to_string(static_cast<int>(status)) + ": " + (status == 0 ? "" : tensoa_last_error());
}

}  // namespace tensoa::test
