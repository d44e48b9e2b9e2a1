// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "deploy/infrastructure.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>

#include "tensoa/core/error.hpp"

namespace tensoa::tools {
namespace {

constexpr int kMostPort = 65'535;

bool is_address(const std::string& host) {
  return host.find(':') != std::string::npos || std::ranges::all_of(host, [](unsigned char c) {
           return std::isdigit(c) != 0 || c == '.';
         });
}

std::string with_name(std::string text, const std::string& name) {
  const std::string place = "@NAME@";
  for (std::size_t at = 0; (at = text.find(place, at)) != std::string::npos; at += name.size()) {
    text.replace(at, place.size(), name);
  }
  return text;
}

constexpr const char* kEnvoyHead = R"(
# envoy -c envoy.yaml --drain-time-s 2 --drain-strategy immediate
# A call that fails because its server is gone is repeated on another one. Take a server out here before you stop it:
# a Triton that stops still answers, NOT_FOUND.
admin: { address: { socket_address: { address: 127.0.0.1, port_value: 19901 } } }
static_resources:
  listeners:
  - address: { socket_address: { address: 0.0.0.0, port_value: 9001 } }
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

constexpr const char* kHelmNote =
    " (docs/triton.md)\n# Rendered by a test and checked against the schema of Kubernetes 1.29; "
    "not run on a cluster.\n";

constexpr const char* kValues = R"(image: nvcr.io/nvidia/tritonserver:24.10-py3
# A volume with models/ (the folder of `tensoa deploy --to`) and backends/tensoa/libtriton_tensoa.so.
repositoryClaim: @NAME@-models
resources:
  requests: { cpu: "2", memory: 4Gi }
  limits: { cpu: "2", memory: 4Gi }
autoscaling:
  minReplicas: 1
  maxReplicas: 8
  # Percent of the requested CPU time.
  targetCPUUtilizationPercentage: 70
)";

constexpr const char* kDeployment = R"(apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-triton
  labels: { app: {{ .Release.Name }}-triton }
spec:
  selector:
    matchLabels: { app: {{ .Release.Name }}-triton }
  template:
    metadata:
      labels: { app: {{ .Release.Name }}-triton }
    spec:
      terminationGracePeriodSeconds: 60
      containers:
      - name: triton
        image: {{ .Values.image | quote }}
        command: ["tritonserver"]
        args:
        - --model-repository=/repository/models
        - --backend-directory=/repository/backends
        - --exit-timeout-secs=45
        ports:
        - { name: http, containerPort: 8000 }
        - { name: grpc, containerPort: 8001 }
        - { name: metrics, containerPort: 8002 }
        lifecycle:
          # The endpoint is removed before the server stops: a server that stops answers NOT_FOUND.
          preStop: { exec: { command: ["sleep", "10"] } }
        readinessProbe:
          httpGet: { path: /v2/health/ready, port: http }
          periodSeconds: 2
        livenessProbe:
          httpGet: { path: /v2/health/live, port: http }
          initialDelaySeconds: 15
        resources: {{- toYaml .Values.resources | nindent 10 }}
        volumeMounts:
        - { name: repository, mountPath: /repository, readOnly: true }
      volumes:
      - name: repository
        persistentVolumeClaim: { claimName: {{ .Values.repositoryClaim | quote }}, readOnly: true }
)";

// Without an address of its own the name stands for all servers, so that a client or Envoy can choose one.
constexpr const char* kService = R"(apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}-triton
spec:
  clusterIP: None
  selector: { app: {{ .Release.Name }}-triton }
  ports:
  - { name: grpc, port: 8001, targetPort: grpc }
  - { name: metrics, port: 8002, targetPort: metrics }
)";

constexpr const char* kAutoscaler = R"(apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ .Release.Name }}-triton
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: {{ .Release.Name }}-triton }
  minReplicas: {{ .Values.autoscaling.minReplicas }}
  maxReplicas: {{ .Values.autoscaling.maxReplicas }}
  metrics:
  - type: Resource
    resource:
      name: cpu
      target: { type: Utilization, averageUtilization: {{ .Values.autoscaling.targetCPUUtilizationPercentage }} }
  behavior:
    scaleDown: { stabilizationWindowSeconds: 300 }
)";

}  // namespace

Endpoint parse_endpoint(const std::string& text) {
  const auto fail = [&]() -> Endpoint {
    throw InputError("--envoy: got \"" + text +
                     "\", expected HOST:PORT, the gRPC port of a Triton server: triton1:8001");
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return fail();
  Endpoint endpoint{.host = text.substr(0, colon)};
  if (endpoint.host.size() > 2 && endpoint.host.front() == '[' && endpoint.host.back() == ']') {
    endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
  } else if (endpoint.host.find(':') != std::string::npos) {
    return fail();
  }
  const bool is_name =
      !endpoint.host.empty() && std::ranges::all_of(endpoint.host, [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == ':';
      });
  const std::string port = text.substr(colon + 1);
  constexpr std::size_t kDigits = 5;
  const bool is_number = !port.empty() && port.size() <= kDigits &&
                         std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
  endpoint.port = is_number ? std::stoi(port) : 0;
  if (!is_name || endpoint.port < 1 || endpoint.port > kMostPort) return fail();
  return endpoint;
}

std::string envoy_yaml(const std::vector<Endpoint>& servers) {
  const bool are_addresses =
      std::ranges::all_of(servers, [](const Endpoint& server) { return is_address(server.host); });
  std::string text = kDeployMark + " (docs/triton.md)" + kEnvoyHead +
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

std::vector<NewFile> helm_chart(const std::string& name) {
  const std::string head = kDeployMark + kHelmNote;
  const std::string chart = fmt::format(
      "apiVersion: v2\nname: tensoa-triton\ndescription: Triton servers for the model {}\ntype: "
      "application\nversion: 0.1.0\n",
      name);
  const auto file = [&](const char* place, const std::string& text) {
    return NewFile{.place = place, .text = head + text};
  };
  return {file("Chart.yaml", chart), file("values.yaml", with_name(kValues, name)),
          file("templates/deployment.yaml", kDeployment), file("templates/service.yaml", kService),
          file("templates/autoscaler.yaml", kAutoscaler)};
}

}  // namespace tensoa::tools
