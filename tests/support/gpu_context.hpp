// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

#include <cstdlib>

namespace tensoa::test {

/// Whether this process has a context on a CUDA device, as the driver says; without one it has none.
/// Ends the process where the driver does not say.
inline bool has_context(int device) {
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return false;
  void* const symbol = dlsym(driver, "cuDevicePrimaryCtxGetState");
  if (symbol == nullptr) std::abort();
  unsigned flags = 0;
  int is_active = 0;
  if (reinterpret_cast<int (*)(int, unsigned*, int*)>(symbol)(device, &flags, &is_active) != 0) {
    std::abort();
  }
  dlclose(driver);
  return is_active != 0;
}

}  // namespace tensoa::test
