// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace tensoa {

/// Bytes that one call copied between the caller's columns and the model, enqueued by the time the
/// call returns. 0 and 0 means that the model read and wrote the columns where they lie. Engines
/// count what they really copy.
struct CopyReport {
  std::size_t bytes_in = 0;   ///< columns to the model: inputs that the model may write to
  std::size_t bytes_out = 0;  ///< model to columns: outputs of engines that allocate their own

  CopyReport& operator+=(const CopyReport& other) noexcept {
    bytes_in += other.bytes_in;
    bytes_out += other.bytes_out;
    return *this;
  }
  friend bool operator==(const CopyReport&, const CopyReport&) = default;
};

}  // namespace tensoa
