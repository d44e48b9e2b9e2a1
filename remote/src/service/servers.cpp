// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "service/servers.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>

namespace tensoa::remote {
namespace {

constexpr Clock::duration kFirstPause = std::chrono::milliseconds(100);
constexpr Clock::duration kLongestPause = std::chrono::seconds(5);

}  // namespace

Server& Servers::take(std::span<Server* const> tried) {
  const std::lock_guard lock(mutex_);
  const auto rank = [&](const Server& server) {
    const bool is_tried = std::ranges::find(tried, &server) != tried.end();
    return std::tuple(server.is_suspect, is_tried, server.outstanding);
  };
  ++turn_;
  Server* best = nullptr;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    Server& server = *servers_[(turn_ + i) % servers_.size()];
    if (best == nullptr || rank(server) < rank(*best)) best = &server;
  }
  ++best->outstanding;
  return *best;
}

void Servers::release(Server& server, bool is_failed) {
  {
    const std::lock_guard lock(mutex_);
    --server.outstanding;
  }
  if (is_failed) suspect(server);
}

void Servers::suspect(Server& server) {
  {
    const std::lock_guard lock(mutex_);
    if (server.is_suspect) return;
    server.is_suspect = true;
    server.pause = kFirstPause;
  }
  probe_later(server);
}

void Servers::probe_later(Server& server) {
  transport_->after(server.pause, [weak = weak_from_this(), &server] {
    const std::shared_ptr<Servers> self = weak.lock();
    if (self == nullptr) return;
    self->probe_(server, [weak, &server](bool works) {
      if (const std::shared_ptr<Servers> live = weak.lock()) live->probed(server, works);
    });
  });
}

void Servers::probed(Server& server, bool works) {
  {
    const std::lock_guard lock(mutex_);
    if (works) {
      server.is_suspect = false;
      return;
    }
    server.pause = std::min(2 * server.pause, kLongestPause);
  }
  probe_later(server);
}

}  // namespace tensoa::remote
