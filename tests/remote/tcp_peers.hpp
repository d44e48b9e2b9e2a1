// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace tensoa::test {

/// A TCP server on a free port of 127.0.0.1 that runs its function for each client, in a separate thread.
class TcpServer {
 public:
  /// @param serve of a connected socket, which is closed after it; returns soon after the socket was shut down
  explicit TcpServer(std::function<void(int socket)> serve);
  ~TcpServer();
  TcpServer(const TcpServer&) = delete;
  TcpServer& operator=(const TcpServer&) = delete;

  /// "127.0.0.1:12345".
  const std::string& address() const noexcept { return address_; }

 private:
  void accept_all();

  std::function<void(int socket)> serve_;
  int listener_;
  std::string address_;
  std::mutex mutex_;
  std::list<int> open_;
  std::list<std::thread> clients_;
  std::thread thread_;
};

/// A network between a client and a server: passes bytes on, until a test has it lose or hold them.
class Network {
 public:
  /// @param to "127.0.0.1:12345"
  explicit Network(std::string to);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  const std::string& address() const noexcept { return server_->address(); }

  /// Closes all connections that there are, and refuses none that come.
  void cut();

  /// Reads no more, from either side: no byte arrives, no connection ends.
  void hold();

  /// Until a byte has been held.
  void wait_until_held();

 private:
  void relay(int client);
  void pass(int from, int to);

  std::string to_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_held_ = false;
  bool has_held_ = false;
  bool is_over_ = false;
  int cuts_ = 0;
  std::list<int> open_;
  std::unique_ptr<TcpServer> server_;  // last: its threads use the others
};

/// Sends all bytes. @return whether the other side took them
bool send_all(int socket, const std::string& bytes);

}  // namespace tensoa::test
