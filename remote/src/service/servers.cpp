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
/// How long, and how often, a server that has denied a model may still have it. That all these answers are of other servers behind its
/// address than the one that has it: by chance, one update in 3000 where that is one of three.
constexpr Clock::duration kDoubt = std::chrono::seconds(1);
constexpr int kDoubtDenials = 20;
/// Where it is not asked so often.
constexpr Clock::duration kDoubtUnasked = std::chrono::seconds(10);

Clock::duration longer(Clock::duration pause) {
  return std::clamp(2 * pause, kFirstPause, kLongestPause);
}

bool is_in_doubt(const Server& server, const ServedModel* model) {
  if (server.doubted == nullptr || server.doubted.get() != model) return false;
  const Clock::duration since = Clock::now() - server.denied_at;
  return since < kDoubt || (server.denials < kDoubtDenials && since < kDoubtUnasked);
}

/// @pre the server had `model` until now, or is in doubt about it
void count_denial(Server& server, const std::shared_ptr<const ServedModel>& model) {
  if (server.doubted != model || server.model == model) {
    server.doubted = model;
    server.denied_at = Clock::now();
    server.denials = 0;
  }
  ++server.denials;
}

bool is_in(std::span<Server* const> servers, const Server& server) {
  return std::ranges::find(servers, &server) != servers.end();
}

}  // namespace

Standing standing_of(const Server& server, const ServedModel* model) {
  if (is_in_doubt(server, model)) return Standing::kNotSaid;
  if (server.is_suspect) return Standing::kFails;
  if (server.model.get() == model) return Standing::kHasIt;
  return server.model == nullptr ? Standing::kNotSaid : Standing::kHasAnother;
}

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
    server->model = server->doubted = nullptr;
    if (server->connection == nullptr) server->connection = std::move(connections[i]);
  }
}

Server* Servers::take(const ServedModel* model, std::span<Server* const> tried,
                      std::span<Server* const> refused) {
  const std::lock_guard lock(mutex_);
  const auto rank = [&](const Server& server) {
    return std::tuple(standing_of(server, model), is_in(tried, server), server.outstanding);
  };
  ++turn_;
  Server* best = nullptr;
  for (std::size_t i = 0; i < live_.size(); ++i) {
    Server& server = *live_[(turn_ + i) % live_.size()];
    if (server.model.get() != model && !is_in_doubt(server, model)) continue;
    if (!refused.empty() && (is_in(refused, server) || is_in(tried, server))) continue;
    if (best == nullptr || rank(server) < rank(*best)) best = &server;
  }
  if (best != nullptr) ++best->outstanding;
  return best;
}

Standing Servers::best_standing(const ServedModel* model, std::span<Server* const> refused) const {
  const std::lock_guard lock(mutex_);
  Standing best = Standing::kFails;
  for (const Server* const server : live_) {
    best = std::min(best, is_in(refused, *server) ? Standing::kHasIt : standing_of(*server, model));
  }
  return best;
}

void Servers::release(Server& server, Outcome outcome,
                      std::shared_ptr<const ServedModel> answered_as) {
  std::shared_ptr<Connection> unused;
  {
    const std::lock_guard lock(mutex_);
    --server.outstanding;
    if (outcome == Outcome::kAnswered) server.pause = {};
    if (is_in_doubt(server, answered_as.get())) server.model.swap(answered_as);
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

bool Servers::set_model(Server& server, std::shared_ptr<const ServedModel> model,
                        bool has_another) {
  bool is_news = false;
  {
    const std::lock_guard lock(mutex_);
    if (server.model != nullptr && server.model != model) {
      count_denial(server, server.model);
    } else if (server.doubted != nullptr && server.doubted != model) {
      count_denial(server, server.doubted);
    }
    is_news = has_another && server.warned_of != model;
    if (is_news) server.warned_of = model;
    server.model = std::move(model);
    if (!has_another || server.is_gone) return is_news;
    server.is_suspect = false;  // it has just answered
    if (std::exchange(server.is_probing, true)) return is_news;
    server.pause = longer(server.pause);
  }
  probe_later(server);
  return is_news;
}

void Servers::deny(Server& server, const ServedModel* model) {
  const std::lock_guard lock(mutex_);
  if (server.model.get() == model) {
    count_denial(server, server.model);
    server.model = nullptr;
  } else if (server.doubted.get() == model) {
    ++server.denials;
  }
}

void Servers::look_at(Server& server) {
  {
    const std::lock_guard lock(mutex_);
    if (server.model != nullptr || server.is_suspect || server.is_gone) return;
    if (std::exchange(server.is_probing, true)) return;
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
    if (!server.is_gone) server.is_suspect = found == Probed::kFails;
    const bool is_settled = Clock::now() - server.denied_at > kLongestPause;
    if (found == Probed::kWorks && is_settled) server.warned_of = nullptr;
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
