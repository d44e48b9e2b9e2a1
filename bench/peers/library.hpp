// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <filesystem>

#include "tensoa/core/error.hpp"

namespace tensoa::peers {

/// The function `name` of a shared library, which stays open.
/// @throws EngineError with what the loader says
inline void* symbol(const std::filesystem::path& library, const char* name) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const found = handle == nullptr ? nullptr : dlsym(handle, name);
  if (found == nullptr) throw EngineError(dlerror());
  return found;
}

}  // namespace tensoa::peers
