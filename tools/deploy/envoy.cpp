// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "deploy/envoy.hpp"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "deploy/model_folder.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::tools {
namespace {

constexpr int kMostPort = 65'535;

bool is_address(const std::string& host) {
  return host.find(':') != std::string::npos || std::ranges::all_of(host, [](unsigned char c) {
           return std::isdigit(c) != 0 || c == '.';
         });
}

bool is_numeric(int family, const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return inet_pton(family, text.c_str(), address.data()) == 1;
}

/// "HOST:PORT" or "[ADDRESS]:PORT"; none where there is no port, or no host.
std::optional<Endpoint> split(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return {};
  Endpoint endpoint{.host = text.substr(0, colon)};
  if (endpoint.host.size() > 2 && endpoint.host.front() == '[' && endpoint.host.back() == ']') {
    endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
  } else if (endpoint.host.find(':') != std::string::npos) {
    return {};
  }
  const std::string port = text.substr(colon + 1);
  constexpr std::size_t kDigits = 5;
  const bool is_number = !port.empty() && port.size() <= kDigits &&
                         std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
  endpoint.port = is_number ? std::stoi(port) : 0;
  if (endpoint.host.empty() || endpoint.port < 1 || endpoint.port > kMostPort) return {};
  return endpoint;
}

constexpr const char* kEnvoyHead = R"(
# envoy -c envoy.yaml --drain-time-s 2 --drain-strategy immediate
# A call that fails because its server is gone is repeated on another one. Take a server out here before you stop it:
# a Triton that stops still answers, NOT_FOUND.
admin: { address: { socket_address: { address: 127.0.0.1, port_value: 19901 } } }
static_resources:
  listeners:
  # gRPC without TLS and without authentication: every client that reaches this address may run the models. Triton's calls that
  # load models and register memory pass, too; docs/service.md says how a Triton refuses them.
  - address: { socket_address: { address: "@ADDRESS@", port_value: @PORT@ } }
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: triton
          codec_type: HTTP2
          drain_timeout: 2s
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes:
              - match: { prefix: "/" }
                route:
                  cluster: triton
                  timeout: 0s
                  max_stream_duration: { grpc_timeout_header_max: 0s }
                  retry_policy:
                    retry_on: "unavailable,connect-failure,refused-stream,reset"
                    num_retries: 2
                    retry_host_predicate:
                    - name: envoy.retry_host_predicates.previous_hosts
                      typed_config:
                        "@type": type.googleapis.com/envoy.extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate
          http_filters:
          - name: envoy.filters.http.router
            typed_config: { "@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router }
  clusters:
  - name: triton
    type: )";

constexpr const char* kEnvoyCluster = R"(
    connect_timeout: 1s
    lb_policy: LEAST_REQUEST
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        "@type": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: { http2_protocol_options: {} }
    circuit_breakers: { thresholds: [ { max_retries: 1000, max_requests: 10000, max_pending_requests: 10000 } ] }
    health_checks: [ { timeout: 1s, interval: 1s, unhealthy_threshold: 1, healthy_threshold: 1, grpc_health_check: {} } ]
    outlier_detection: { consecutive_5xx: 3, interval: 1s, base_ejection_time: 3s, max_ejection_percent: 67 }
    load_assignment:
      cluster_name: triton
      endpoints:
      - lb_endpoints:
)";

std::string head_for(const Endpoint& listen) {
  std::string text = kEnvoyHead;
  const auto put = [&](const std::string& place, const std::string& what) {
    text.replace(text.find(place), place.size(), what);
  };
  put("@ADDRESS@", listen.host);
  put("@PORT@", std::to_string(listen.port));
  return text;
}

}  // namespace

std::string to_string(const Endpoint& endpoint) {
  const bool is_ipv6 = endpoint.host.find(':') != std::string::npos;
  return (is_ipv6 ? '[' + endpoint.host + ']' : endpoint.host) + ':' +
         std::to_string(endpoint.port);
}

Endpoint parse_endpoint(const std::string& text) {
  const std::optional<Endpoint> endpoint = split(text);
  const bool is_name =
      endpoint && std::ranges::all_of(endpoint->host, [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == ':';
      });
  if (is_name) return *endpoint;
  throw InputError("--envoy: got \"" + text +
                   "\", expected HOST:PORT, the gRPC port of a Triton server: triton1:8001");
}

Endpoint parse_listen(const std::string& text) {
  if (is_numeric(AF_INET, text) || is_numeric(AF_INET6, text)) return {.host = text};
  const std::optional<Endpoint> endpoint = split(text);
  if (endpoint && (is_numeric(AF_INET, endpoint->host) || is_numeric(AF_INET6, endpoint->host))) {
    return *endpoint;
  }
  throw InputError("--listen: got \"" + text +
                   "\", expected the address of an interface, and a port for Envoy if you want: "
                   "127.0.0.1:9001, [::1]:9001; 0.0.0.0 for all interfaces");
}

bool is_loopback(const std::string& address) {
  return address == "::1" || address.starts_with("127.");
}

std::string envoy_yaml(const std::vector<Endpoint>& servers, const Endpoint& listen) {
  const bool are_addresses =
      std::ranges::all_of(servers, [](const Endpoint& server) { return is_address(server.host); });
  std::string text = kDeployMark + " (docs/triton.md)" + head_for(listen) +
                     (are_addresses ? "STATIC" : "STRICT_DNS") + kEnvoyCluster;
  for (const Endpoint& server : servers) {
    text += fmt::format(
        "        - endpoint: {{ address: {{ socket_address: {{ address: \"{}\", port_value: {} }} "
        "}} "
        "}}\n",
        server.host, server.port);
  }
  return text;
}

}  // namespace tensoa::tools
