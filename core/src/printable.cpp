// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/printable.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tensoa {
namespace {

unsigned char byte_at(std::string_view text, std::size_t i) noexcept {
  return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
}

/// Bytes of the character of UTF-8 that begins at `i`; 0: none does.
std::size_t length_at(std::string_view text, std::size_t i) noexcept {
  const unsigned char first = byte_at(text, i);
  const unsigned char second = byte_at(text, i + 1);
  const auto follows = [&](std::size_t count) {
    for (std::size_t k = 1; k <= count; ++k) {
      if ((byte_at(text, i + k) & 0xC0U) != 0x80) return false;
    }
    return true;
  };
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool is_right =
        (first != 0xE0 || second >= 0xA0) && (first != 0xED || second <= 0x9F);  // surrogates
    return is_right && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool is_right = (first != 0xF0 || second >= 0x90) && (first != 0xF4 || second <= 0x8F);
    return is_right && follows(3) ? 4 : 0;
  }
  return 0;
}

bool is_control(std::string_view text, std::size_t i, std::size_t length) noexcept {
  const unsigned char first = byte_at(text, i);
  if (length == 1) return first < 0x20 || first == 0x7F;
  return length == 2 && first == 0xC2 && byte_at(text, i + 1) <= 0x9F;  // U+0080 to U+009F
}

/// The first place from `i` on where something has to be written out.
std::size_t printable_until(std::string_view text, std::size_t i) noexcept {
  while (i < text.size()) {
    const std::size_t length = length_at(text, i);
    if (length == 0 || is_control(text, i, length)) break;
    i += length;
  }
  return i;
}

void append_written_out(std::string& to, unsigned char byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (byte == '\n') {
    to += "\\n";
  } else if (byte == '\t') {
    to += "\\t";
  } else if (byte == '\r') {
    to += "\\r";
  } else {
    to += "\\x";
    to += kDigits[byte / 16];
    to += kDigits[byte % 16];
  }
}

}  // namespace

std::string printable(std::string_view text) {
  std::string copy(text);
  make_printable(copy);
  return copy;
}

void make_printable(std::string& text) {
  std::size_t i = printable_until(text, 0);
  if (i == text.size()) return;
  std::string result;
  for (std::size_t from = 0; from < text.size(); from = i) {
    i = printable_until(text, from);
    result.append(text, from, i - from);
    if (i == text.size()) break;
    const std::size_t end = i + std::max<std::size_t>(length_at(text, i), 1);
    for (; i < end; ++i) append_written_out(result, byte_at(text, i));
  }
  text = std::move(result);
}

}  // namespace tensoa
