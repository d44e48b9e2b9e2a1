// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/own_library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <system_error>
#include <vector>

namespace tensoa {
namespace {

/// Of this program, or library, and no other that has the same functions.
const char here = 0;

}  // namespace

std::filesystem::path own_folder() {
  Dl_info info{};
  link_map* map = nullptr;
  if (dladdr1(&here, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0) {
    return {};
  }
  // A program has no name there, and dli_fname is what it was called by: a name that may be any other file's.
  const bool is_program = map == nullptr || *map->l_name == '\0';
  std::error_code ignored;
  return std::filesystem::canonical(is_program ? "/proc/self/exe" : map->l_name, ignored)
      .parent_path();
}

void* find_in_own_library(const char* library, const char* symbol, std::string& why) {
  std::vector<std::filesystem::path> files{library};
  if (const std::filesystem::path folder = own_folder(); !folder.empty()) {
    files.push_back(folder / library);
    files.push_back(folder / "../lib" / library);
  }
  for (const std::filesystem::path& file : files) {
    if (void* const opened = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      if (void* const found = dlsym(opened, symbol)) return found;
    }
    const char* const error = dlerror();
    std::error_code ignored;
    // One that is there says what it lacks.
    if (error != nullptr && (why.empty() || std::filesystem::exists(file, ignored))) why = error;
  }
  return nullptr;
}

}  // namespace tensoa
