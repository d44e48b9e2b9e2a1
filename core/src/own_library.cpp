// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/own_library.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>

namespace tensoa {
namespace {

/// The folder of the program, or library, that this is linked into.
std::filesystem::path own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0) return {};
  std::error_code ignored;
  return std::filesystem::canonical(info.dli_fname, ignored).parent_path();
}

}  // namespace

void* find_in_own_library(const char* library, const char* symbol, std::string& why) {
  const std::filesystem::path folder = own_folder();
  for (const std::filesystem::path& file :
       {std::filesystem::path(library), folder / library, folder / "../lib" / library}) {
    if (void* const opened = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      if (void* const found = dlsym(opened, symbol)) return found;
    }
    const char* const error = dlerror();
    if (why.empty() && error != nullptr) why = error;
  }
  return nullptr;
}

}  // namespace tensoa
