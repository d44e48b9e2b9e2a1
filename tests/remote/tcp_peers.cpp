// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tcp_peers.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace tensoa::test {
namespace {

sockaddr_in local(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

}  // namespace

bool send_all(int socket, const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t sent = send(socket, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    done += static_cast<std::size_t>(sent);
  }
  return true;
}

TcpServer::TcpServer(std::function<void(int socket)> serve)
    : serve_(std::move(serve)), listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = local(0);
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener_, any, size) != 0 || listen(listener_, 100) != 0 ||
      getsockname(listener_, any, &size) != 0) {
    throw std::runtime_error("no free port of 127.0.0.1");
  }
  address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  thread_ = std::thread([this] { accept_all(); });
}

TcpServer::~TcpServer() {
  shutdown(listener_, SHUT_RDWR);
  thread_.join();
  close(listener_);
  {
    const std::lock_guard lock(mutex_);
    for (const int client : open_) shutdown(client, SHUT_RDWR);
  }
  for (std::thread& client : clients_) client.join();
}

void TcpServer::accept_all() {
  for (;;) {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    const std::lock_guard lock(mutex_);
    open_.push_back(client);
    clients_.emplace_back([this, client] {
      serve_(client);
      const std::lock_guard guard(mutex_);
      open_.remove(client);
      close(client);
    });
  }
}

Network::Network(std::string to)
    : to_(std::move(to)),
      server_(std::make_unique<TcpServer>([this](int client) { relay(client); })) {}

Network::~Network() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  cut();
  server_.reset();
}

void Network::cut() {
  const std::lock_guard lock(mutex_);
  ++cuts_;
  changed_.notify_all();
  for (const int end : open_) shutdown(end, SHUT_RDWR);
}

void Network::hold() {
  const std::lock_guard lock(mutex_);
  is_held_ = true;
}

void Network::wait_until_held() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return has_held_; });
}

void Network::relay(int client) {
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = local(std::stoi(to_.substr(to_.find(':') + 1)));
  if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    {
      const std::lock_guard lock(mutex_);
      open_.insert(open_.end(), {client, server});
    }
    std::thread back([&] { pass(server, client); });
    pass(client, server);
    back.join();
    const std::lock_guard lock(mutex_);
    open_.remove(client);
    open_.remove(server);
  }
  close(server);
}

void Network::pass(int from, int to) {
  std::array<char, 65536> bytes{};
  mutex_.lock();
  const int cuts = cuts_;
  mutex_.unlock();
  for (;;) {
    const ssize_t got = recv(from, bytes.data(), bytes.size(), 0);
    {
      std::unique_lock lock(mutex_);
      if (is_held_) {
        has_held_ = true;
        changed_.notify_all();
      }
      changed_.wait(lock, [&] { return !is_held_ || is_over_ || cuts_ != cuts; });
      if (cuts_ != cuts) break;
    }
    if (got <= 0 || !send_all(to, {bytes.data(), static_cast<std::size_t>(got)})) break;
  }
  shutdown(from, SHUT_RDWR);
  shutdown(to, SHUT_RDWR);
}

}  // namespace tensoa::test
