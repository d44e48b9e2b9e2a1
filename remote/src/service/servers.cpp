// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "service/servers.hpp"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

namespace tensoa::remote {
namespace {

constexpr Clock::duration kFirstPause = std::chrono::milliseconds(100);
constexpr Clock::duration kLongestPause = std::chrono::seconds(5);

Clock::duration longer(Clock::duration pause) {
  return std::clamp(2 * pause, kFirstPause, kLongestPause);
}

}  // namespace

void Servers::update(std::span<const Endpoint> endpoints) {
  const auto find = [&](const std::string& address) -> Server* {
    const auto found = std::ranges::find(servers_, address, &Server::address);
    return found == servers_.end() ? nullptr : found->get();
  };
  std::vector<std::shared_ptr<Connection>> connections;  // made and freed without the mutex
  for (const Endpoint& endpoint : endpoints) {
    std::unique_lock lock(mutex_);
    const Server* const known = find(endpoint.address);
    const bool has_one = known != nullptr && !known->is_gone;
    lock.unlock();
    connections.push_back(has_one ? nullptr : connect_(endpoint));
  }
  std::vector<std::shared_ptr<Connection>> unused;
  const std::lock_guard lock(mutex_);
  for (const auto& server : servers_) {
    server->is_gone =
        std::ranges::find(endpoints, server->address, &Endpoint::address) == endpoints.end();
    if (auto connection = take_unused(*server)) unused.push_back(std::move(connection));
  }
  live_.clear();
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    Server* server = find(endpoints[i].address);
    if (server == nullptr) {
      server = servers_.emplace_back(std::make_unique<Server>()).get();
      server->address = endpoints[i].address;
    }
    live_.push_back(server);
    if (connections[i] == nullptr) continue;
    server->is_suspect = false;
    server->model = nullptr;
    if (server->connection == nullptr) server->connection = std::move(connections[i]);
  }
}

Server* Servers::take(const ServedModel* model, std::span<Server* const> tried,
                      std::span<Server* const> refused) {
  const std::lock_guard lock(mutex_);
  const auto is_in = [](std::span<Server* const> servers, const Server& server) {
    return std::ranges::find(servers, &server) != servers.end();
  };
  const auto rank = [&](const Server& server) {
    return std::tuple(server.is_suspect, is_in(tried, server), server.outstanding);
  };
  ++turn_;
  Server* best = nullptr;
  for (std::size_t i = 0; i < live_.size(); ++i) {
    Server& server = *live_[(turn_ + i) % live_.size()];
    if (server.model.get() != model) continue;
    if (!refused.empty() && (is_in(refused, server) || is_in(tried, server))) continue;
    if (best == nullptr || rank(server) < rank(*best)) best = &server;
  }
  if (best != nullptr) ++best->outstanding;
  return best;
}

void Servers::release(Server& server, Outcome outcome) {
  std::shared_ptr<Connection> unused;
  {
    const std::lock_guard lock(mutex_);
    --server.outstanding;
    if (outcome == Outcome::kAnswered) server.pause = {};
    unused = take_unused(server);
  }
  if (outcome == Outcome::kFailed) suspect(server);
}

void Servers::suspect(Server& server) {
  {
    const std::lock_guard lock(mutex_);
    if (server.is_suspect || server.is_gone) return;
    server.is_suspect = true;
    if (std::exchange(server.is_probing, true)) return;
    server.pause = longer(server.pause);
  }
  probe_later(server);
}

void Servers::set_model(Server& server, std::shared_ptr<const ServedModel> model,
                        bool has_another) {
  {
    const std::lock_guard lock(mutex_);
    server.model = std::move(model);
    if (!has_another || server.is_gone) return;
    server.is_suspect = false;  // it has just answered
    if (std::exchange(server.is_probing, true)) return;
    server.pause = longer(server.pause);
  }
  probe_later(server);
}

std::vector<Server*> Servers::all() const {
  const std::lock_guard lock(mutex_);
  return live_;
}

std::vector<std::pair<std::string, std::shared_ptr<Connection>>> Servers::connections() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::string, std::shared_ptr<Connection>>> all;
  all.reserve(live_.size());
  for (const Server* const server : live_) all.emplace_back(server->address, server->connection);
  return all;
}

std::vector<Server*> Servers::all_ever() const {
  const std::lock_guard lock(mutex_);
  std::vector<Server*> all;
  all.reserve(servers_.size());
  for (const auto& server : servers_) all.push_back(server.get());
  return all;
}

void Servers::probe_later(Server& server) {
  Clock::duration pause{};
  {
    const std::lock_guard lock(mutex_);
    pause = server.pause;
  }
  transport_->after(pause, [weak = weak_from_this(), &server] {
    const std::shared_ptr<Servers> self = weak.lock();
    if (self == nullptr) return;
    if (self->is_gone(server)) return self->probed(server, Probed::kFails);
    self->probe_(server, [weak, &server](Probed found) {
      if (const std::shared_ptr<Servers> live = weak.lock()) live->probed(server, found);
    });
  });
}

void Servers::probed(Server& server, Probed found) {
  std::shared_ptr<Connection> unused;
  {
    const std::lock_guard lock(mutex_);
    if (found != Probed::kFails) server.is_suspect = false;
    if (found == Probed::kWorks || server.is_gone) {
      server.is_probing = false;
      unused = take_unused(server);
      return;
    }
    server.pause = longer(server.pause);
  }
  probe_later(server);
}

std::shared_ptr<Connection> Servers::take_unused(Server& server) {
  const bool is_used = !server.is_gone || server.outstanding > 0 || server.is_probing;
  return is_used ? nullptr : std::exchange(server.connection, nullptr);
}

}  // namespace tensoa::remote
