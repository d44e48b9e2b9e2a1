// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tensoa/core/output_file.hpp"

namespace tensoa::test {

/// Leaves a file that is right already alone, so that nothing is made from it again.
inline void write_if_changed(const std::filesystem::path& path, const std::string& text) {
  std::ifstream file(path);
  const std::string before{std::istreambuf_iterator<char>(file), {}};
  if (before != text) write_file(path, text);
}

}  // namespace tensoa::test
