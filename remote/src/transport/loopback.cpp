// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Between processes of one host there is nothing to be congested. A host whose default is BBR paces its connections there too,
// with a timer for each few packets: 16 MiB to a server took 4.0 ms of CPU time instead of 2.9
// (benchmarks/results/service-send.txt). gRPC has no option for it. So its connect(), which --wrap leads here, picks the algorithm
// that every kernel has and every process may use.

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstring>
#include <string_view>

namespace tensoa::remote {
namespace {

/// IPv4, IPv6, and IPv4 in IPv6, as gRPC has it.
bool is_loopback(const sockaddr* address, socklen_t size) {
  const auto is_127 = [](const void* bytes) {
    return *static_cast<const unsigned char*>(bytes) == 127;
  };
  if (address->sa_family == AF_INET && size >= sizeof(sockaddr_in)) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof(v4));
    return is_127(&v4.sin_addr);
  }
  if (address->sa_family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, address, sizeof(v6));
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) return is_127(&v6.sin6_addr.s6_addr[12]);
    return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
  }
  return false;
}

}  // namespace
}  // namespace tensoa::remote

extern "C" {

int real_connect(int socket, const sockaddr* address, socklen_t size) __asm__("__real_connect");
int wrapped_connect(int socket, const sockaddr* address, socklen_t size) __asm__("__wrap_connect");

int wrapped_connect(int socket, const sockaddr* address, socklen_t size) {
  if (tensoa::remote::is_loopback(address, size)) {
    constexpr std::string_view kAlgorithm = "reno";
    // Refused for sockets that are not of TCP; a kernel that refuses it for others paces them.
    static_cast<void>(
        setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, kAlgorithm.data(), kAlgorithm.size()));
  }
  return real_connect(socket, address, size);
}
}
