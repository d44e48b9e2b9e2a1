// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/columnar/text_table.hpp"

#include "arrow_library.hpp"

namespace tensoa::columnar {

std::string read_text(const std::filesystem::path& path, const TextLimit& limit) {
  return arrow_library().read_text(path, limit);
}

TableChunk parse_text(const std::filesystem::path& path, std::string_view text,
                      const std::vector<TextColumn>& columns, bool has_names) {
  return arrow_library().parse_text(path, text, columns, has_names);
}

}  // namespace tensoa::columnar
