// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "seams/remote_seam.hpp"
#include "seconds.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/location.hpp"
#include "tensoa/remote/engines.hpp"
#include "tensoa/remote/options.hpp"
#include "tensoa/remote/server_figures.hpp"
#include "tensoa/remote/statistics.hpp"

namespace tensoa::tools {
namespace {

using remote::ServerFigures;
using remote::ServerStatistics;

/// No server is waited for longer than a second.
std::vector<ServerFigures> ask_servers(const std::string& model, remote::Options options) {
  options.attempt_deadline = std::chrono::milliseconds(1000);
  return remote::server_figures(model, options);
}

/// As the defaults are to each other: two attempts, and time for a pause.
void set_deadline(remote::Options& options, double seconds) {
  constexpr double kOfAttempt = 0.4;
  const auto rounded = [](double time) {
    return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(1000 * time)));
  };
  options.deadline = options.load_deadline = rounded(seconds);
  options.attempt_deadline = rounded(kOfAttempt * seconds);
}

/// The work of a server between two answers.
std::optional<remote::InferenceCounts> counted(const std::vector<ServerFigures>& before,
                                               const std::vector<ServerFigures>& now,
                                               const std::string& server) {
  const auto of = [&](const std::vector<ServerFigures>& all) -> const ServerFigures* {
    const auto found = std::ranges::find(all, server, &ServerFigures::server);
    return found == all.end() || !found->counts ? nullptr : &*found;
  };
  const ServerFigures* const first = of(before);
  const ServerFigures* const last = of(now);
  if (first == nullptr || last == nullptr) return {};
  return *last->counts - *first->counts;
}

nlohmann::json to_json(const ServerStatistics& server,
                       const std::optional<remote::InferenceCounts>& counts) {
  std::uint64_t failures = 0;
  nlohmann::json by_code = nlohmann::json::object();
  for (std::size_t code = 0; code < server.failures.size(); ++code) {
    if (server.failures[code] == 0) continue;
    failures += server.failures[code];
    by_code[std::to_string(code)] = server.failures[code];
  }
  const auto latency = [&](double share) {
    return server.latency.count() == 0
               ? nlohmann::json()
               : nlohmann::json(seconds_of(server.latency.percentile(share)));
  };
  const auto split = counts ? remote::split(*counts, std::chrono::nanoseconds(0)) : std::nullopt;
  return {{"server", server.server},
          {"is_gone", server.is_gone},
          {"is_suspect", server.is_suspect},
          {"requests", server.requests},
          {"failures", failures},
          {"failures_by_code", by_code},
          {"retries", server.retries},
          {"bytes_sent", server.bytes_sent},
          {"bytes_received", server.bytes_received},
          {"latency_p50", latency(0.5)},
          {"latency_p99", latency(0.99)},
          {"queue", split ? nlohmann::json(seconds_of(split->queue)) : nlohmann::json()},
          {"compute", split ? nlohmann::json(seconds_of(split->compute)) : nlohmann::json()}};
}

}  // namespace

ModelOptions options_for(const std::string& model, const ServerOptions& options,
                         const std::string& other) {
  if (!ModelLocation(model).is_url()) {
    const std::string given = options.first_given();
    if (given.empty() || ModelLocation(other).is_url()) return {};
    throw ConfigError(given + ": got the model " + model +
                      ", which is a file, expected the URL of a model on a server");
  }
  remote::Options all;
  all.ca_file = options.ca;
  all.certificate_file = options.certificate;
  all.key_file = options.key;
  all.token_file = options.token;
  all.headers = headers_of(options);
  all.fallback = options.fallback;
  if (options.deadline) set_deadline(all, *options.deadline);
  return all;
}

struct ServiceRun::Before {
  std::string model;
  remote::Options options;
  std::vector<ServerFigures> servers;
};

ServiceRun::ServiceRun(const std::string& model, const ModelOptions& options) {
  if (!ModelLocation(model).is_url()) return;
  auto own = options.get<remote::Options>();
  std::vector<ServerFigures> servers = ask_servers(model, own);
  before_ = std::make_unique<Before>(Before{model, std::move(own), std::move(servers)});
}

ServiceRun::~ServiceRun() = default;

nlohmann::json ServiceRun::figures() const {
  nlohmann::json servers = nlohmann::json::array();
  if (before_ == nullptr) return servers;
  const std::vector<ServerFigures> now = ask_servers(before_->model, before_->options);
  for (const ServerStatistics& server : remote::statistics()) {
    if (server.model != before_->model) continue;
    servers.push_back(to_json(server, counted(before_->servers, now, server.server)));
  }
  return servers;
}

std::string service_metrics() {
  const std::vector<remote::ServerStatistics> servers = remote::statistics();
  return servers.empty() ? "" : remote::prometheus_text(servers);
}

}  // namespace tensoa::tools
