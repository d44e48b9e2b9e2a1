// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensoa/remote/options.hpp"

namespace tensoa::remote {

/// A server's counts for a model, over all its clients and versions, since it started. The difference between two
/// moments (operator-) is the count in between. Times are sums.
struct InferenceCounts {
  std::uint64_t requests = 0;  ///< that succeeded
  std::uint64_t failures = 0;
  std::uint64_t rows = 0;        ///< `inference_count`
  std::uint64_t executions = 0;  ///< of the model; a dynamic batch is one
  std::chrono::nanoseconds queue{0};
  std::chrono::nanoseconds compute_input{0};  ///< gathering the inputs of a batch
  std::chrono::nanoseconds compute{0};
  std::chrono::nanoseconds compute_output{0};

  /// Of what happened after `before`; of a server that was restarted in between, everything.
  InferenceCounts operator-(const InferenceCounts& before) const noexcept;

  friend bool operator==(const InferenceCounts&, const InferenceCounts&) = default;
};

/// One server of a model, as it answered at one moment.
struct ServerFigures {
  std::string model;   ///< its URL
  std::string server;  ///< "host:port"
  bool is_ready = false;
  std::string error = {};  ///< what it answered, where it is not ready, or has no statistics
  std::chrono::nanoseconds round_trip{0};      ///< of a call without tensors: network and front end
  std::optional<InferenceCounts> counts = {};  ///< none: the server has no statistics
};

/// Asks all servers of a URL, at the same time. Waits until all have answered, for Options::attempt_deadline at most: not
/// for tasks or completions.
/// @throws LoadError for a URL or credentials that cannot be used; a server that does not answer is a result
std::vector<ServerFigures> server_figures(const std::string& url, const Options& options = {});

/// Where the time of a call went, on average.
struct LatencySplit {
  std::chrono::nanoseconds queue{0};
  std::chrono::nanoseconds compute{0};  ///< with its input and output
  std::chrono::nanoseconds rest{0};     ///< network, the server's front end, and the client
};

/// @param counts what the servers did while the calls ran; of other clients too
/// @param latency of a call, on average, as the client sees it; 0: not known
/// @return none without requests
std::optional<LatencySplit> split(const InferenceCounts& counts, std::chrono::nanoseconds latency);

/// As prometheus_text() of the calls of this process, for what servers count.
std::string prometheus_text(std::span<const ServerFigures> servers);

}  // namespace tensoa::remote
