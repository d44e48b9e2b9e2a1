// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "tensoa/package/archive.hpp"

// Any bytes as an archive: refused, or files that lie in the bytes.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  try {
    const tensoa::package::Archive archive(all);
    for (const auto& file : archive.files()) {
      const bool is_inside = file.bytes.data() >= all.data() &&
                             file.bytes.data() + file.bytes.size() <= all.data() + all.size();
      if (!is_inside || archive.file(file.name).data() != file.bytes.data()) __builtin_trap();
    }
  } catch (const std::runtime_error&) {
  }
  return 0;
}
