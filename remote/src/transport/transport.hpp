// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transport/payload.hpp"

/// @file
/// The seam to gRPC, which only grpc_transport.cpp includes.

namespace tensoa::remote {

using Clock = std::chrono::steady_clock;

/// How a call ended; the codes are gRPC's (grpc.io/docs/guides/status-codes).
struct CallStatus {
  int code = 0;
  std::string message = {};

  bool is_ok() const noexcept { return code == 0; }
};

/// How connections to a server are made.
struct Credentials {
  bool is_encrypted = false;
  std::string ca_file = {};           ///< empty: those of the system
  std::string certificate_file = {};  ///< of the client, with its key: mutual TLS
  std::string key_file = {};
  std::string token_file =
      {};  ///< read again when it changes; sent as "authorization: Bearer TOKEN"
  std::vector<std::pair<std::string, std::string>> headers = {};
};

/// The limits of a connection.
struct ConnectionLimits {
  std::size_t message_limit = 0;  ///< bytes of a reply; a longer one is RESOURCE_EXHAUSTED

  /// A server that has taken nothing of what was sent for so long, or does not answer a ping, is gone: its connection ends.
  std::chrono::milliseconds patience{10'000};
};

/// A connection to one server. Opened by the first call, opened again after it was lost.
/// *Threads*: safe.
class Connection {
 public:
  /// @param reply in order, gone after the call
  using Done =
      std::function<void(CallStatus status, std::span<const std::span<const std::byte>> reply)>;

  virtual ~Connection() = default;

  /// Calls a method of the server. Does not wait, does not throw.
  /// @param payload read until `done` is called
  /// @param done called once, by a completion thread, whatever happens to the connection: when the reply is there,
  /// or the call failed, and gRPC no longer reads the payload. At the latest soon after the deadline; where the server
  /// takes no more bytes, after ConnectionLimits::patience. It must not block or throw.
  virtual void call(const char* method, std::shared_ptr<const Payload> payload,
                    Clock::time_point deadline, Done done) = 0;
};

/// A call that was waited for.
struct Answer {
  CallStatus status;
  std::string reply;
};

/// Calls and waits: for loading models and for programs, never in a task or a completion thread.
Answer call_and_wait(Connection& connection, const char* method, const std::string& message,
                     Clock::time_point deadline);

/// The completion threads of the process, two, whatever the number of models and servers. They start with the
/// first model of a service, and end with the last.
/// *Threads*: safe.
class Transport {
 public:
  virtual ~Transport() = default;

  /// @throws LoadError where libtensoa_grpc.so cannot be loaded
  static std::shared_ptr<Transport> shared();

  /// @throws LoadError for files of the credentials that cannot be read
  /// @param server "host:port"; an address, where `name` is what it is for
  /// @param name "host:port" that certificates are checked for and proxies route by; empty: `server`
  virtual std::shared_ptr<Connection> connect(const std::string& server, const std::string& name,
                                              const Credentials& credentials,
                                              const ConnectionLimits& limits) = 0;

  /// Calls `function` in a completion thread after `delay`, unless the transport has ended before. It must
  /// not block or throw.
  virtual void after(Clock::duration delay, std::function<void()> function) = 0;
};

}  // namespace tensoa::remote
