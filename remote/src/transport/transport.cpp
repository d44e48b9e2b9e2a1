// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/transport.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <mutex>

#include "tensoa/core/error.hpp"
#include "transport/forked.hpp"

namespace tensoa::remote {
namespace {

constexpr const char* kLibrary = "libtensoa_grpc.so";

using Make = Transport* (*)();

/// The folder of the program, or library, that this is linked into.
std::filesystem::path own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0) return {};
  std::error_code ignored;
  return std::filesystem::canonical(info.dli_fname, ignored).parent_path();
}

/// Loaded once, and never unloaded: gRPC has threads of its own. Where the linker looks (RUNPATH,
/// LD_LIBRARY_PATH), else beside the program and in ../lib.
Make load_library() {
  watch_for_forks();
  std::string why;
  const std::filesystem::path folder = own_folder();
  for (const std::filesystem::path& file :
       {std::filesystem::path(kLibrary), folder / kLibrary, folder / "../lib" / kLibrary}) {
    if (void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      if (void* const make = dlsym(library, "tensoa_make_grpc_transport")) {
        return reinterpret_cast<Make>(make);
      }
    }
    const char* const error = dlerror();
    if (why.empty() && error != nullptr) why = error;
  }
  throw LoadError("models of servers need " + std::string(kLibrary) +
                  ", which cannot be loaded: " + why +
                  "; it is installed with tensoa::remote, and needs the libraries of gRPC "
                  "(Debian: libgrpc++1.51)");
}

}  // namespace

std::shared_ptr<Transport> Transport::shared() {
  static std::mutex mutex;
  static std::weak_ptr<Transport> transport;
  if (is_forked()) throw LoadError(kForked);
  const std::lock_guard lock(mutex);
  std::shared_ptr<Transport> live = transport.lock();
  if (live == nullptr) {
    static const Make make = load_library();
    live = std::shared_ptr<Transport>(make());
    transport = live;
  }
  return live;
}

}  // namespace tensoa::remote
