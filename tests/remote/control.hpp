// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>

namespace tensoa::test {

/// Sends a command to the test bench (tests/service/control.py). @return "ok", or "error: why"
inline std::string control(const std::string& address, const std::string& command) {
  const std::size_t colon = address.find(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
  inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  if (connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) {
    close(socket);
    throw std::runtime_error("no test bench at " + address);
  }
  const std::string line = command + '\n';
  static_cast<void>(send(socket, line.data(), line.size(), 0));
  std::string answer;
  std::array<char, 256> bytes{};
  while (answer.find('\n') == std::string::npos) {
    const ssize_t got = recv(socket, bytes.data(), bytes.size(), 0);
    if (got <= 0) break;
    answer.append(bytes.data(), static_cast<std::size_t>(got));
  }
  close(socket);
  return answer.substr(0, answer.find('\n'));
}

}  // namespace tensoa::test
