# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
"""Envoy as a process, in front of a list of servers."""

import http.client
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import wheels
from process import Process, free_port, wait_until

_TYPE = "type.googleapis.com/envoy.extensions."


def _socket(port: int, host: str = "127.0.0.1") -> dict[str, Any]:
    return {"socket_address": {"address": host, "port_value": port}}


def endpoints(servers: Sequence[str], drained: Sequence[str] = ()) -> dict[str, Any]:
    """Returns the list of servers (host:port) as Envoy reads it from a file."""
    found = []
    for server in servers:
        host, port = server.rsplit(":", 1)
        status = "DRAINING" if server in drained else "UNKNOWN"
        found.append({"endpoint": {"address": _socket(int(port), host)}, "health_status": status})
    kind = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
    return {"resources": [{"@type": kind, "cluster_name": "servers", "endpoints": [{"lb_endpoints": found}]}]}


def configuration(port: int, admin_port: int, endpoint_file: Path, retries: int, health_checks: bool) -> dict[str, Any]:
    """Returns the configuration: a listener for gRPC, a cluster with LEAST_REQUEST, retries and ejection."""
    route: dict[str, Any] = {"cluster": "servers", "timeout": "0s", "max_stream_duration": {"grpc_timeout_header_max": "0s"}}
    if retries:
        predicate = {"@type": f"{_TYPE}retry.host.previous_hosts.v3.PreviousHostsPredicate"}
        route["retry_policy"] = {
            "retry_on": "unavailable,connect-failure,refused-stream,reset",
            "num_retries": retries,
            "host_selection_retry_max_attempts": 5,  # how often it looks for a server that was not tried
            "retry_host_predicate": [{"name": "envoy.retry_host_predicates.previous_hosts", "typed_config": predicate}],
        }
    manager = {
        "@type": f"{_TYPE}filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "in",
        "codec_type": "HTTP2",
        "drain_timeout": "2s",
        "route_config": {
            "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [{"match": {"prefix": "/"}, "route": route}]}]
        },
        "http_filters": [
            {"name": "envoy.filters.http.router", "typed_config": {"@type": f"{_TYPE}filters.http.router.v3.Router"}}
        ],
    }
    options = f"{_TYPE}upstreams.http.v3.HttpProtocolOptions"
    cluster: dict[str, Any] = {
        "name": "servers",
        "type": "EDS",
        "eds_cluster_config": {"eds_config": {"path_config_source": {"path": str(endpoint_file)}}},
        "connect_timeout": "1s",
        "lb_policy": "LEAST_REQUEST",
        "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                "@type": options,
                "explicit_http_config": {"http2_protocol_options": {}},
            }
        },
        "outlier_detection": {"consecutive_5xx": 3, "interval": "1s", "base_ejection_time": "3s", "max_ejection_percent": 67},
        "circuit_breakers": {"thresholds": [{"max_retries": 1000, "max_requests": 10000, "max_pending_requests": 10000}]},
    }
    if health_checks:
        # The interval before the first request is 60 s otherwise.
        intervals = {"interval": "1s", "no_traffic_interval": "1s", "timeout": "1s"}
        check = {**intervals, "unhealthy_threshold": 1, "healthy_threshold": 1, "grpc_health_check": {}}
        cluster["health_checks"] = [check]
    listener = {
        "address": _socket(port),
        "filter_chains": [{"filters": [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]}],
    }
    return {
        "node": {"id": "tensoa-test", "cluster": "tensoa-test"},
        "admin": {"address": _socket(admin_port)},
        "static_resources": {"listeners": [listener], "clusters": [cluster]},
    }


class Envoy(Process):
    """Envoy in front of `servers` (host:port each), on free ports of 127.0.0.1; a context manager.

    Parameters: `retries` is the number of retries of a request, each on another server (0: none); `health_checks` needs servers
    that answer grpc.health.v1 (Triton does, KserveServer does not). Files are in `folder`, by default a temporary one.
    """

    def __init__(
        self,
        servers: Sequence[str],
        *,
        retries: int = 2,
        health_checks: bool = True,
        name: str = "envoy",
        folder: Path | None = None,
    ):
        super().__init__(name, folder)
        self.servers = list(servers)
        self.health_checks = health_checks
        self.port = free_port()
        self.admin_port = free_port()
        while self.admin_port == self.port:
            self.admin_port = free_port()
        self._endpoints = self.folder / f"{name}-endpoints.json"
        self.set_servers(servers)
        config = self.folder / f"{name}.json"
        config.write_text(
            json.dumps(configuration(self.port, self.admin_port, self._endpoints, retries, health_checks), indent=1)
        )
        self.command = [wheels.packages() / "envoy" / "_bin" / "envoy", "-c", config]
        self.command += "--disable-hot-restart --concurrency 2 -l warning --drain-time-s 2 --drain-strategy immediate".split()

    @property
    def address(self) -> str:
        """Returns host:port of gRPC."""
        return f"127.0.0.1:{self.port}"

    def set_servers(self, servers: Sequence[str], drained: Sequence[str] = ()) -> None:
        """Replaces the list of servers; Envoy sends no new request to those of `drained`."""
        new = self._endpoints.with_suffix(".new")
        new.write_text(json.dumps(endpoints(servers, drained)))
        os.replace(new, self._endpoints)

    def admin(self, method: str, path: str) -> str:
        """Sends one request to the administration port and returns the body; an empty text where nothing answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.admin_port, timeout=2)
        try:
            connection.request(method, path)
            return connection.getresponse().read().decode()
        except OSError:
            return ""
        finally:
            connection.close()

    def statistic(self, name: str) -> int:
        """Returns one counter or gauge, such as `cluster.servers.membership_healthy`; -1 where it is missing."""
        for line in self.admin("GET", "/stats").splitlines():
            key, _, value = line.partition(": ")
            if key == name:
                return int(value)
        return -1

    def drain(self) -> None:
        """Makes Envoy itself drain: it sends GOAWAY to its clients and closes its listener after 2 seconds."""
        self.admin("POST", "/drain_listeners?graceful")

    def is_ready(self) -> bool:
        return self.admin("GET", "/ready").strip() == "LIVE" and (
            self.statistic("cluster.servers.membership_healthy") == len(self.servers)
        )

    def wait_for_healthy(self, number: int, seconds: float = 10.0) -> None:
        """Waits until Envoy takes exactly `number` servers for healthy."""
        wait_until(lambda: self.statistic("cluster.servers.membership_healthy") == number, f"{number} healthy servers", seconds)
