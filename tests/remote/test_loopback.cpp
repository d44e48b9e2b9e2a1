// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Connections to servers on the same host are not paced.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "fake_server.hpp"
#include "kserve/messages.hpp"
#include "one_attempt.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa {
namespace {

/// The port of the other end, 0 where it has no port.
std::uint16_t port_of_peer(int socket) {
  sockaddr_storage peer{};
  socklen_t size = sizeof(peer);
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return 0;
  if (peer.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(peer).sin_port);
  if (peer.ss_family != AF_INET6) return 0;
  return ntohs(reinterpret_cast<const sockaddr_in6&>(peer).sin6_port);
}

/// Those of the connections of this process to a port.
std::vector<std::string> congestion_control_of_connections_to(std::uint16_t port) {
  std::vector<std::string> algorithms;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int socket = std::stoi(entry.path().filename());
    std::array<char, 16> name{};
    socklen_t size = name.size();
    if (port_of_peer(socket) == port &&
        getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name.data(), &size) == 0) {
      algorithms.emplace_back(name.data());
    }
  }
  return algorithms;
}

TEST(Loopback, IsNotPaced) {
  const test::FakeServer server([](const std::string&, const std::string&) {
    return test::FakeReply{.message = std::string("\x08\x01", 2)};
  });
  const std::string& address = server.address();
  const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  for (const std::string host : {"127.0.0.1", "[::ffff:127.0.0.1]"}) {
    SCOPED_TRACE(host);
    const auto service = remote::Service::make(
        ModelLocation("grpc://" + host + address.substr(address.rfind(':')) + "/m"), {});
    remote::Server& first = *service->servers().all().front();
    const auto answer = call_and_wait(*first.connection, remote::kModelReady, "",
                                      remote::Clock::now() + std::chrono::minutes(1));
    EXPECT_TRUE(answer.status.is_ok()) << answer.status.message;
    EXPECT_THAT(congestion_control_of_connections_to(port),
                testing::AllOf(testing::Not(testing::IsEmpty()), testing::Each("reno")));
  }
}

}  // namespace
}  // namespace tensoa
