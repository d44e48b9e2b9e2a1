// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace tensoa::package {

/// Hexadecimal digits of a SHA-256.
inline constexpr std::size_t kChecksumDigits = 64;

/// SHA-256 of `bytes` (FIPS 180-4) as hexadecimal digits.
std::string sha256(std::string_view bytes);

/// Returns the SHA-256 of a file: what `sha256sum FILE` prints.
/// @throws LoadError where it cannot be read as a whole
std::string checksum_of_file(const std::filesystem::path& file);

/// Whether the text is a SHA-256 as these functions write it: 64 digits, `0` to `9` and `a` to `f`.
bool is_checksum(std::string_view text) noexcept;

}  // namespace tensoa::package
