// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tensoa {

/// Why bytes were copied.
enum class CopyReason : std::uint8_t {
  kInputIsWritten,  ///< in: the model may write this input, so it works on a copy
  kRepack,          ///< in, out: the block requested it (Repack)
  kRagged,          ///< in: padded rows, masks, segments
  kOwnOutput,       ///< out: the engine allocates its outputs
  kCudaGraph,       ///< in, out: a captured graph works in its own memory
  kOverlap,         ///< out: a result, or an input, lay in memory that an output is written to
  kService,         ///< in, out: columns of a GPU pass through other memory to a service and back
  kRowMajor,        ///< in, out: the engine has row-major tensors alone, and the block is none
};

/// Bytes that one call copied between the caller's columns and the model, enqueued by the time the
/// call returns. 0 and 0 means that the model read and wrote the columns where they lie. Engines
/// count the bytes written, where they write them.
struct CopyReport {
  std::size_t bytes_in = 0;   ///< columns to the model
  std::size_t bytes_out = 0;  ///< model to columns
  std::uint8_t reasons = 0;   ///< one bit for each CopyReason

  void add_in(std::size_t bytes, CopyReason reason) noexcept {
    bytes_in += bytes;
    add(reason);
  }
  void add_out(std::size_t bytes, CopyReason reason) noexcept {
    bytes_out += bytes;
    add(reason);
  }
  bool has(CopyReason reason) const noexcept { return (reasons & bit(reason)) != 0; }

  CopyReport& operator+=(const CopyReport& other) noexcept {
    bytes_in += other.bytes_in;
    bytes_out += other.bytes_out;
    reasons |= other.reasons;
    return *this;
  }
  /// Equal in bytes; the reasons are for people.
  friend bool operator==(const CopyReport& a, const CopyReport& b) noexcept {
    return a.bytes_in == b.bytes_in && a.bytes_out == b.bytes_out;
  }

 private:
  static constexpr std::uint8_t bit(CopyReason reason) noexcept {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(reason));
  }
  void add(CopyReason reason) noexcept {
    reasons = static_cast<std::uint8_t>(reasons | bit(reason));
  }
};

/// "0 bytes in, 32 bytes out (the engine allocates its outputs)".
std::string to_string(const CopyReport& report);

}  // namespace tensoa
