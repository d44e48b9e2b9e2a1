// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/transport.hpp"

#include <mutex>
#include <string>

#include "tensoa/core/error.hpp"
#include "tensoa/core/own_library.hpp"
#include "transport/forked.hpp"

namespace tensoa::remote {
namespace {

constexpr const char* kLibrary = "libtensoa_grpc.so";

using Make = Transport* (*)();

/// gRPC has its own threads.
Make load_library() {
  watch_for_forks();
  std::string why;
  if (void* const make = find_in_own_library(kLibrary, "tensoa_make_grpc_transport", why)) {
    return reinterpret_cast<Make>(make);
  }
  throw LoadError(
      "models of servers need " + std::string(kLibrary) + ", which cannot be loaded: " + why +
      "; it is installed with tensoa::remote, and needs OpenSSL 3 (Debian: libssl3) and, "
      "outside the wheel, the libraries of gRPC (Debian: libgrpc++1.51)");
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
