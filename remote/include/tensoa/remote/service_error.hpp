// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "tensoa/core/error.hpp"

namespace tensoa::remote {

/// A call that a server did not answer, or answered wrongly. Its columns are untouched, but outputs in SharedMemory, which
/// the server writes itself.
class ServiceError : public EngineError {
 public:
  /// @param code of gRPC: 14 for UNAVAILABLE
  /// @param server "host:port" of the last attempt
  ServiceError(const std::string& message, int code, std::string server, bool may_retry)
      : EngineError(message), code_(code), server_(std::move(server)), may_retry_(may_retry) {}

  /// The gRPC status code (grpc.io/docs/guides/status-codes). 9 (FAILED_PRECONDITION): the servers have another model than the
  /// one that was loaded, or several. 13 (INTERNAL): also a reply that cannot be read, or is of another model.
  int code() const noexcept { return code_; }

  const std::string& server() const noexcept { return server_; }

  /// Whether the same call may succeed later, or on another server.
  bool may_retry() const noexcept { return may_retry_; }

 private:
  int code_;
  std::string server_;
  bool may_retry_;
};

}  // namespace tensoa::remote
