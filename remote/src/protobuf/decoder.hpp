// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protobuf/encoder.hpp"

/// @file
/// Reads the wire format of Protocol Buffers from memory in pieces, as gRPC delivers a reply. What a server
/// sends is not trusted: no length leads out of the memory, no number makes an allocation.

namespace tensoa::remote::protobuf {

using Piece = std::span<const std::byte>;

/// Bytes that are not a message, or end too early. `what` says where.
struct DecodeError {
  const char* what;
};

/// A range of bytes in pieces. A plain value; the memory must outlive it.
class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(std::span<const Piece> pieces) : pieces_(pieces) {
    for (const Piece& piece : pieces) size_ += piece.size();
  }

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

  /// Calls `visit` with each contiguous part in order.
  template <class Visit>
  void for_each_part(const Visit& visit) const {
    Bytes rest = *this;
    while (rest.size_ > 0) {
      const Piece part = rest.contiguous();
      visit(part);
      rest.skip(part.size());
    }
  }

  /// The first bytes that lie side by side.
  Piece contiguous() noexcept {
    while (offset_ == pieces_.front().size()) {
      pieces_ = pieces_.subspan(1);
      offset_ = 0;
    }
    return pieces_.front().subspan(offset_, std::min(size_, pieces_.front().size() - offset_));
  }

  /// @throws DecodeError where there are fewer bytes
  Bytes take(std::uint64_t count) {
    if (count > size_) throw DecodeError{"a length leads beyond the end of the message"};
    Bytes taken = *this;
    taken.size_ = static_cast<std::size_t>(count);
    skip(taken.size_);
    return taken;
  }

  std::uint8_t byte() {
    if (size_ == 0) throw DecodeError{"the message ends in the middle of a number"};
    const auto value = static_cast<std::uint8_t>(contiguous().front());
    skip(1);
    return value;
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      const std::uint8_t next = byte();
      if (shift < 64) value |= static_cast<std::uint64_t>(next & 0x7F) << shift;
      if (next < 0x80) return value;
    }
    throw DecodeError{"a number has more than ten bytes"};
  }

  friend bool operator==(const Bytes& bytes, std::string_view text) {
    if (bytes.size_ != text.size()) return false;
    bool is_same = true;
    bytes.for_each_part([&](Piece part) {
      const std::string_view here(reinterpret_cast<const char*>(part.data()), part.size());
      is_same = is_same && text.starts_with(here);
      text.remove_prefix(here.size());
    });
    return is_same;
  }

  std::string text() const {
    std::string copied;
    copied.reserve(size_);
    for_each_part([&](Piece part) {
      copied.append(reinterpret_cast<const char*>(part.data()), part.size());
    });
    return copied;
  }

 private:
  void skip(std::size_t count) noexcept {
    size_ -= count;
    while (count > 0) {
      const std::size_t here = std::min(count, pieces_.front().size() - offset_);
      offset_ += here;
      count -= here;
      if (offset_ == pieces_.front().size()) {
        pieces_ = pieces_.subspan(1);
        offset_ = 0;
      }
    }
  }

  std::span<const Piece> pieces_;
  std::size_t offset_ = 0;  ///< in the first piece
  std::size_t size_ = 0;
};

/// One field of a message.
struct Field {
  unsigned number = 0;
  WireType type = WireType::kVarint;
  std::uint64_t value = 0;  ///< of a varint
  Bytes bytes = {};         ///< of the other types: the content

  bool is(unsigned other, WireType expected) const noexcept {
    return number == other && type == expected;
  }
};

/// Calls `visit(field)` with each field in order. Unknown ones are for the visitor to ignore.
/// @throws DecodeError
template <class Visit>
void for_each_field(Bytes message, const Visit& visit) {
  while (!message.empty()) {
    const std::uint64_t tag = message.varint();
    Field field{.number = static_cast<unsigned>(tag >> 3)};
    if (tag >> 3 == 0 || tag >> 32 != 0) throw DecodeError{"a field has an invalid number"};
    switch (tag & 7U) {
      case 0:
        field.value = message.varint();
        break;
      case 1:
        field.type = WireType::kFixed64;
        field.bytes = message.take(8);
        break;
      case 2:
        field.type = WireType::kBytes;
        field.bytes = message.take(message.varint());
        break;
      case 5:
        field.type = WireType::kFixed32;
        field.bytes = message.take(4);
        break;
      default:
        throw DecodeError{"a field has an unknown wire type"};
    }
    visit(field);
  }
}

/// Appends the numbers of a repeated field, packed or one by one, at most `most` in all.
/// @throws DecodeError where there are more
inline void append_numbers(const Field& field, std::size_t most,
                           std::vector<std::int64_t>& numbers) {
  const auto append = [&](std::uint64_t value) {
    if (numbers.size() == most) throw DecodeError{"a list of numbers is longer than can be"};
    numbers.push_back(static_cast<std::int64_t>(value));
  };
  if (field.type == WireType::kVarint) return append(field.value);
  Bytes packed = field.bytes;
  while (!packed.empty()) append(packed.varint());
}

}  // namespace tensoa::remote::protobuf
