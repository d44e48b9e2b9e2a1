// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

/// @file
/// Writes the wire format of Protocol Buffers (protobuf.dev/programming-guides/encoding): the few messages of
/// KServe that a client sends. No protobuf library is linked, so none can meet another version in the process.

namespace tensoa::remote::protobuf {

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

class Encoder {
 public:
  void varint(std::uint64_t value) {
    while (value >= 0x80) {
      bytes_.push_back(static_cast<char>(value | 0x80));
      value >>= 7;
    }
    bytes_.push_back(static_cast<char>(value));
  }

  void tag(unsigned field, WireType type) { varint(field << 3 | static_cast<unsigned>(type)); }

  /// A string, bytes, or a message that is encoded.
  void bytes(unsigned field, std::string_view value) {
    tag(field, WireType::kBytes);
    varint(value.size());
    bytes_ += value;
  }

  /// As bytes(), left out where it is empty, which is the default of a string.
  void text(unsigned field, std::string_view value) {
    if (!value.empty()) bytes(field, value);
  }

  /// Fields that are encoded.
  void encoded(std::string_view fields) { bytes_ += fields; }

  void number(unsigned field, std::uint64_t value) {
    tag(field, WireType::kVarint);
    varint(value);
  }

  /// Repeated int64, packed.
  void numbers(unsigned field, std::span<const std::int64_t> values) {
    Encoder packed;
    for (const std::int64_t value : values) packed.varint(static_cast<std::uint64_t>(value));
    bytes(field, packed.bytes_);
  }

  const std::string& bytes() const noexcept { return bytes_; }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

}  // namespace tensoa::remote::protobuf
