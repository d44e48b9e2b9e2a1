// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tensoa/columnar/table_chunk.hpp"
#include "tensoa/core/dtype.hpp"

/// @file
/// CSV that is read as a whole, strictly: for files that are small, and whose columns are known. TableFile reads others.

namespace tensoa::columnar {

/// The most text that is read, and the advice of the message about more of it.
struct TextLimit {
  std::size_t bytes = 0;  ///< unpacked
  std::string expected;   ///< "one event a file"
};

/// Returns the text of a file, unpacked where it is gzip, whatever its name, and without a byte order mark.
/// @throws InputError with the path: no such file, a folder, an empty file, damaged gzip, a file named .gz that is
/// none, bytes 0, more text than the limit
std::string read_text(const std::filesystem::path& path, const TextLimit& limit);

struct TextColumn {
  std::string name;
  DType dtype = DType::kF32;
};

/// Returns these columns of a text, in this order; chunk.numbers() converts nothing.
/// @param path for messages
/// @param has_names the first line has the names of the columns, among which others may be; else these are all that
/// there are
/// @throws InputError for a column that is absent or there twice, an empty field, text that is not a number of the
/// column's type
TableChunk parse_text(const std::filesystem::path& path, std::string_view text,
                      const std::vector<TextColumn>& columns, bool has_names);

}  // namespace tensoa::columnar
