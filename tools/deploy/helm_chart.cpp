// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "deploy/helm_chart.hpp"

#include <fmt/core.h>

#include <cstddef>

namespace tensoa::tools {
namespace {

std::string replaced(std::string text, const std::string& place, const std::string& what) {
  text.replace(text.find(place), place.size(), what);
  return text;
}

constexpr const char* kHelmNote =
    " (docs/triton.md)\n# Rendered by a test and checked against the schema of Kubernetes 1.29; "
    "not run on a cluster.\n";

constexpr const char* kValues =
    R"(# The address in a pod where its server accepts gRPC and metrics. 127.0.0.1 is the pod alone: `kubectl port-forward` reaches it.
# 0.0.0.0 is all that the network and `clients` let through. There is no TLS and no authentication: every client that reaches a
# server may run its models.
listen: "@LISTEN@"
# The clients of ports 8001 (gRPC) and 8002 (metrics), as peers of a NetworkPolicy: all pods of this namespace. An empty list is
# everything, and so is any list where the network plug-in of the cluster has no policies.
clients:
- podSelector: {}
image: nvcr.io/nvidia/tritonserver:24.10-py3
imagePullSecrets: []
# A volume with models/ (the folder of `tensoa deploy --to`) and backends/tensoa/libtriton_tensoa.so, which user 1000 can read.
repositoryClaim: "@NAME@-models"
# For a server with a GPU add nvidia.com/gpu: 1 to the limits; its nodes may need a selector and tolerations.
resources:
  requests: { cpu: "2", memory: 4Gi }
  limits: { cpu: "2", memory: 4Gi }
nodeSelector: {}
tolerations: []
# Main memory for /dev/shm, which Triton's Python back-end uses.
sharedMemory: 1Gi
autoscaling:
  minReplicas: 1
  maxReplicas: 8
  # Percent of the requested CPU time.
  targetCPUUtilizationPercentage: 70
)";

constexpr const char* kDeployment = R"text(apiVersion: apps/v1
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
      automountServiceAccountToken: false
      securityContext:
        { runAsNonRoot: true, runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000, seccompProfile: { type: RuntimeDefault } }
      imagePullSecrets: {{- toYaml .Values.imagePullSecrets | nindent 8 }}
      nodeSelector: {{- toYaml .Values.nodeSelector | nindent 8 }}
      tolerations: {{- toYaml .Values.tolerations | nindent 8 }}
      containers:
      - name: triton
        image: {{ .Values.image | quote }}
        command: ["tritonserver"]
        args:
        - --model-repository=/repository/models
        - --backend-directory=/repository/backends
        # No client loads models: in the mode `explicit` it may upload native code.
        - --model-control-mode=none
        # HTTP is for the probes here.
        - --http-address=127.0.0.1
        - "--grpc-address={{ .Values.listen }}"
        - "--metrics-address={{ .Values.listen }}"
        - --exit-timeout-secs=45
        env:
        - { name: HOME, value: /tmp }
        - { name: TENSOA_PACKAGE_FOLDER, value: /tmp/packages }
        ports:
        - { name: grpc, containerPort: 8001 }
        - { name: metrics, containerPort: 8002 }
        securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } }
        lifecycle:
          # The endpoint is removed before the server stops: a server that stops answers NOT_FOUND.
          preStop: { exec: { command: ["sleep", "10"] } }
        readinessProbe:
          exec:
            command: ["python3", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/v2/health/ready', timeout=2)"]
          periodSeconds: 5
          timeoutSeconds: 4
        livenessProbe:
          exec:
            command: ["python3", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/v2/health/live', timeout=5)"]
          initialDelaySeconds: 15
          timeoutSeconds: 8
        resources: {{- toYaml .Values.resources | nindent 10 }}
        volumeMounts:
        - { name: repository, mountPath: /repository, readOnly: true }
        - { name: scratch, mountPath: /tmp }
        - { name: shared-memory, mountPath: /dev/shm }
      volumes:
      - name: repository
        persistentVolumeClaim: { claimName: {{ .Values.repositoryClaim | quote }}, readOnly: true }
      - name: scratch
        emptyDir: {}
      - name: shared-memory
        emptyDir: { medium: Memory, sizeLimit: {{ .Values.sharedMemory | quote }} }
)text";

// Without its own address the name stands for all servers, so that a client or Envoy can choose one.
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

constexpr const char* kNetworkPolicy = R"(apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ .Release.Name }}-triton
spec:
  podSelector: { matchLabels: { app: {{ .Release.Name }}-triton } }
  policyTypes: [Ingress]
  ingress:
  - from: {{- toYaml .Values.clients | nindent 4 }}
    ports:
    - { protocol: TCP, port: 8001 }
    - { protocol: TCP, port: 8002 }
)";

// Draining a node stops one server at a time.
constexpr const char* kDisruptionBudget = R"(apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .Release.Name }}-triton
spec:
  maxUnavailable: 1
  selector:
    matchLabels: { app: {{ .Release.Name }}-triton }
)";

}  // namespace

std::vector<NewFile> helm_chart(const std::string& name, const std::string& listen) {
  const std::string head = kDeployMark + kHelmNote;
  const std::string chart = fmt::format(
      "apiVersion: v2\nname: tensoa-triton\ndescription: Triton servers for the model "
      "{}\ntype: "
      "application\nversion: 0.1.0\n",
      name);
  const auto file = [&](const char* place, const std::string& text) {
    return NewFile{.place = place, .text = head + text};
  };
  return {file("Chart.yaml", chart),
          file("values.yaml", replaced(replaced(kValues, "@NAME@", name), "@LISTEN@", listen)),
          file("templates/deployment.yaml", kDeployment),
          file("templates/service.yaml", kService),
          file("templates/autoscaler.yaml", kAutoscaler),
          file("templates/disruption_budget.yaml", kDisruptionBudget),
          file("templates/network_policy.yaml", kNetworkPolicy)};
}

}  // namespace tensoa::tools
