// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "server_options.hpp"
#include "tensoa/engine/model_options.hpp"

// What the program needs from remote/: a seam. with_remote.cpp or without_remote.cpp is linked.

namespace tensoa::tools {

/// Options for `model`: of a URL how its servers are reached, of a file none.
/// @param other of the same command, which the options may be for; empty: none
/// @throws ConfigError for options where neither is a URL, and as headers_of
ModelOptions options_for(const std::string& model, const ServerOptions& options,
                         const std::string& other = {});

/// The work of the servers of a model since the construction: a run.
class ServiceRun {
 public:
  /// @param model a URL, of which the servers are asked what they have counted; a file has no servers
  /// @param options of the model, as options_for
  ServiceRun(const std::string& model, const ModelOptions& options);
  ~ServiceRun();
  ServiceRun(const ServiceRun&) = delete;
  ServiceRun& operator=(const ServiceRun&) = delete;

  /// An array with an object for each server that this process called. Times are seconds. What it counted itself
  /// ("queue", "compute", for a request of any client) is null where it has no statistics.
  nlohmann::json figures() const;

 private:
  struct Before;
  std::unique_ptr<Before> before_;
};

/// The counters of the servers that this process called, in the text format of Prometheus; empty where there are none.
std::string service_metrics();

}  // namespace tensoa::tools
