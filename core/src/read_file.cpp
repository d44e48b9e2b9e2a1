// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/read_file.hpp"

#include <cerrno>
#include <fstream>
#include <ios>
#include <iterator>
#include <system_error>

#include "tensoa/core/error.hpp"

namespace tensoa {

std::string read_file(const std::filesystem::path& path) {
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) {
    throw InputError(path.string() + ": is a folder, expected a file");
  }
  errno = 0;
  try {
    std::ifstream stream(path, std::ios::binary);
    if (stream) return {std::istreambuf_iterator<char>(stream), {}};
  } catch (const std::ios_base::failure&) {
    // errno has the reason.
  }
  throw InputError(path.string() + ": cannot be read: " + std::generic_category().message(errno));
}

}  // namespace tensoa
