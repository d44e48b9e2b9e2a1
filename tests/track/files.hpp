// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "../support/temporary_folder.hpp"

namespace tensoa::track {

using test::TemporaryFolder;

inline std::string contents_of(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// `text` (at most 65535 bytes) as gzip, stored without compression (RFC 1951, 1952).
inline std::string gzip(std::string_view text) {
  std::uint32_t crc = 0xffffffff;
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320 : 0);
  }
  crc = ~crc;
  const auto size = static_cast<std::uint32_t>(text.size());
  std::string bytes("\x1f\x8b\x08\0\0\0\0\0\0\xff\x01", 11);
  const auto append = [&](std::uint32_t value, int n) {
    for (int i = 0; i < n; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  };
  append(size, 2);
  append(~size, 2);
  bytes += text;
  append(crc, 4);
  append(size, 4);
  return bytes;
}

/// The message of the error of type E that `call` throws; a failure of the test when it throws
/// none.
template <class E, class Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "no error of the expected type";
  return {};
}

}  // namespace tensoa::track
