// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "seams/remote_seam.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/location.hpp"
#include "tensoa/remote/engines.hpp"
#include "tensoa/remote/options.hpp"
#include "tensoa/remote/statistics.hpp"

namespace tensoa::tools {

void register_remote() { remote::register_engines(); }

ModelOptions with_fallback(const std::string& model, const std::string& fallback) {
  if (fallback.empty()) return {};
  if (!ModelLocation(model).is_url()) {
    throw ConfigError("--fallback: got the model " + model +
                      ", which is a file, expected the URL of a model on a server");
  }
  remote::Options options;
  options.fallback = fallback;
  return options;
}

std::string service_metrics() {
  const std::vector<remote::ServerStatistics> servers = remote::statistics();
  return servers.empty() ? "" : remote::prometheus_text(servers);
}

}  // namespace tensoa::tools
