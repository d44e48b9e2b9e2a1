// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/remote/statistics.hpp"

#include <chrono>
#include <mutex>

#include "service/registry.hpp"

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

/// A value of a label: what the text format says of backslashes, quotes and line feeds.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\' || c == '"') result += '\\';
    if (c == '\n') {
      result += "\\n";
    } else {
      result += c;
    }
  }
  return result;
}

class Text {
 public:
  void head(const std::string& name, const char* type, const char* help) {
    text_ += "# HELP " + name + ' ' + help + "\n# TYPE " + name + ' ' + type + '\n';
  }
  void line(const std::string& name, const ServerStatistics& server, const std::string& label,
            const std::string& value) {
    text_ += name + "{model=\"" + escaped(server.model) + "\",server=\"" + escaped(server.server) +
             '"' + label + "} " + value + '\n';
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string seconds(std::chrono::nanoseconds time) {
  return std::to_string(std::chrono::duration<double>(time).count());
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
    for (const auto& server : service->servers().all()) {
      ServerStatistics& figures = result.emplace_back(server->counters.figures());
      figures.model = service->location();
      figures.server = server->address;
      figures.is_suspect = service->servers().is_suspect(*server);
    }
  }
  return result;
}

std::string prometheus_text(std::span<const ServerStatistics> servers) {
  Text text;
  const auto counter = [&](const std::string& name, const char* help, auto value) {
    text.head(name, "counter", help);
    for (const ServerStatistics& server : servers) {
      text.line(name, server, "", std::to_string(value(server)));
    }
  };
  counter("tensoa_remote_requests_total", "Attempts that are over.",
          [](const auto& server) { return server.requests; });
  counter("tensoa_remote_retries_total", "Attempts that were not the first of their call.",
          [](const auto& server) { return server.retries; });
  counter("tensoa_remote_sent_bytes_total", "Bytes of requests.",
          [](const auto& server) { return server.bytes_sent; });
  counter("tensoa_remote_received_bytes_total", "Bytes of replies.",
          [](const auto& server) { return server.bytes_received; });
  text.head("tensoa_remote_failures_total", "counter", "Attempts that failed, by gRPC code.");
  for (const ServerStatistics& server : servers) {
    for (std::size_t code = 1; code < server.failures.size(); ++code) {
      if (server.failures[code] == 0) continue;
      text.line("tensoa_remote_failures_total", server, ",code=\"" + std::to_string(code) + '"',
                std::to_string(server.failures[code]));
    }
  }
  text.head("tensoa_remote_up", "gauge", "1 where the last attempt or probe was answered.");
  for (const ServerStatistics& server : servers) {
    text.line("tensoa_remote_up", server, "", server.is_suspect ? "0" : "1");
  }
  text.head("tensoa_remote_latency_seconds", "summary", "Of attempts that were answered.");
  for (const ServerStatistics& server : servers) {
    for (const auto& [share, label] : {std::pair(0.5, "0.5"), {0.99, "0.99"}, {0.999, "0.999"}}) {
      text.line("tensoa_remote_latency_seconds", server, std::string(",quantile=\"") + label + '"',
                seconds(server.latency.percentile(share)));
    }
    text.line("tensoa_remote_latency_seconds_count", server, "",
              std::to_string(server.latency.count()));
  }
  return text.take();
}

}  // namespace tensoa::remote
