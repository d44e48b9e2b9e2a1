// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/remote/statistics.hpp"

#include <algorithm>
#include <functional>
#include <mutex>
#include <string_view>
#include <utility>

#include "service/registry.hpp"
#include "tensoa/core/prometheus.hpp"

namespace tensoa::remote {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<std::weak_ptr<Service>> services;
};

Registry& registry() {
  static Registry the_registry;
  return the_registry;
}

}  // namespace

void remember(const std::shared_ptr<Service>& service) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.services, [](const auto& other) { return other.expired(); });
  all.services.push_back(service);
}

std::vector<ServerStatistics> statistics() {
  std::vector<std::shared_ptr<Service>> live;
  {
    Registry& all = registry();
    const std::lock_guard lock(all.mutex);
    for (const auto& weak : all.services) {
      if (auto service = weak.lock()) live.push_back(std::move(service));
    }
  }
  std::vector<ServerStatistics> result;
  for (const auto& service : live) {
    for (const auto& server : service->servers().all_ever()) {
      const bool is_gone = service->servers().is_gone(*server);
      const ServerStatistics counted = server->counters.figures();
      if (is_gone && counted.requests == 0) continue;
      ServerStatistics& figures = result.emplace_back(counted);
      figures.model = service->location();
      figures.server = server->address;
      figures.is_suspect = service->servers().is_suspect(*server);
      figures.is_gone = is_gone;
    }
  }
  return result;
}

namespace {

/// One entry for a model on a server: what several models of one URL did there, added up.
std::vector<ServerStatistics> merged(std::span<const ServerStatistics> servers) {
  std::vector<ServerStatistics> result;
  for (const ServerStatistics& one : servers) {
    const auto same = std::ranges::find_if(result, [&](const ServerStatistics& other) {
      return other.model == one.model && other.server == one.server;
    });
    if (same == result.end()) {
      result.push_back(one);
      continue;
    }
    same->is_suspect = same->is_suspect && one.is_suspect;
    same->is_gone = same->is_gone && one.is_gone;
    same->requests += one.requests;
    same->retries += one.retries;
    same->bytes_sent += one.bytes_sent;
    same->bytes_received += one.bytes_received;
    same->latency += one.latency;
    std::ranges::transform(same->failures, one.failures, same->failures.begin(), std::plus<>());
  }
  return result;
}

}  // namespace

std::string prometheus_text(std::span<const ServerStatistics> all) {
  const std::vector<ServerStatistics> servers = merged(all);
  PrometheusText text;
  const auto family = [&](std::string_view name, std::string_view type, std::string_view help,
                          const auto& value) {
    text.family(name, type, help);
    for (const ServerStatistics& server : servers) {
      text.sample(name, {{"model", server.model}, {"server", server.server}},
                  static_cast<double>(value(server)));
    }
  };
  family("tensoa_remote_requests_total", "counter", "Attempts that are over.",
         [](const auto& server) { return server.requests; });
  family("tensoa_remote_retries_total", "counter",
         "Attempts that were not the first of their call.",
         [](const auto& server) { return server.retries; });
  family("tensoa_remote_sent_bytes_total", "counter", "Bytes of requests.",
         [](const auto& server) { return server.bytes_sent; });
  family("tensoa_remote_received_bytes_total", "counter", "Bytes of replies.",
         [](const auto& server) { return server.bytes_received; });
  text.family("tensoa_remote_failures_total", "counter", "Attempts that failed, by gRPC code.");
  for (const ServerStatistics& server : servers) {
    for (std::size_t code = 1; code < server.failures.size(); ++code) {
      if (server.failures[code] == 0) continue;
      text.sample(
          "tensoa_remote_failures_total",
          {{"model", server.model}, {"server", server.server}, {"code", std::to_string(code)}},
          static_cast<double>(server.failures[code]));
    }
  }
  family("tensoa_remote_up", "gauge", "1 where the last attempt or probe was answered.",
         [](const auto& server) { return server.is_suspect || server.is_gone ? 0 : 1; });
  text.family("tensoa_remote_latency_seconds", "summary", "Of attempts that were answered.");
  for (const ServerStatistics& server : servers) {
    text.summary("tensoa_remote_latency_seconds",
                 {{"model", server.model}, {"server", server.server}}, server.latency);
  }
  return text.text();
}

}  // namespace tensoa::remote
