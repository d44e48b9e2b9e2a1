// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

// The names of the files of events.

namespace tensoa::events {

/// The file's name without its folder and ".csv[.gz]", ".parquet" or the like.
std::string without_endings(const std::filesystem::path& path);

/// True for the endings of Parquet and Arrow files.
bool is_table(const std::filesystem::path& path);

/// True when `a` comes before `b` in natural order: runs of digits compare as numbers.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace tensoa::events
