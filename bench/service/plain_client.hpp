// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tensoa::bench {

/// Clients with gRPC alone: the baselines of suites/service.cpp. gRPC is in a separate library, with hidden symbols, as that of
/// remote/.
class PlainClient {
 public:
  virtual ~PlainClient() = default;

  /// As a client with generated code: copies the column into a std::string, serialises the message into pieces of 1 MiB, as gRPC does
  /// with protobuf messages, sends it, waits, copies the raw contents into a std::string, and from there to `answer`.
  /// @param header of the message, and the prefix of its raw contents
  virtual void infer(std::string_view header, std::span<const float> column,
                     std::span<float> answer) = 0;

  /// Sets the request that the other functions send.
  virtual void prepare(std::string_view message) = 0;

  /// Sends the request, and waits at the completion queue.
  virtual void echo() = 0;

  /// Sends the request; a thread waits at the completion queue and wakes the caller, as an asynchronous client does.
  virtual void echo_by_thread() = 0;

  /// Sends it `calls` times; two threads at one completion queue send the next one for each that is answered.
  virtual void saturate(std::size_t calls, std::size_t in_flight) = 0;
};

/// Loads the library and connects to "host:port". @throws LoadError
std::unique_ptr<PlainClient> make_plain_client(const std::string& server);

}  // namespace tensoa::bench
