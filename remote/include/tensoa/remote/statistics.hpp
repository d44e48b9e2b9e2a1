// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensoa/core/latency.hpp"
#include "tensoa/engine/location.hpp"

namespace tensoa::remote {

/// Figures of the calls of this process to one server, since its model was loaded.
struct ServerStatistics {
  std::string model;           ///< its URL
  std::string server;          ///< "host:port"; of a name with several addresses, one of them
  bool is_gone = false;        ///< the name does not have this address any more
  bool is_suspect = false;     ///< failed, and is being probed
  std::uint64_t requests = 0;  ///< attempts that are over
  std::array<std::uint64_t, 17> failures{};  ///< by gRPC code; 0 is not used
  std::uint64_t retries = 0;                 ///< attempts that were not the first of their call
  std::uint64_t bytes_sent = 0;              ///< of messages
  std::uint64_t bytes_received = 0;
  LatencyHistogram latency =
      {};  ///< of attempts that succeeded, from the start to the reply in the columns
};

/// Of all models of services that are loaded in this process.
/// *Threads*: safe. Locks each server for a copy, no call waits for longer.
std::vector<ServerStatistics> statistics();

/// In the text format of Prometheus (prometheus.io/docs/instrumenting/exposition_formats): counters, and the
/// latency as a summary with its quantiles 0.5, 0.99 and 0.999.
std::string prometheus_text(std::span<const ServerStatistics> servers);

}  // namespace tensoa::remote
