// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "command.hpp"
#include "seams/remote_seam.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::tools {

void add_top_command(CLI::App& /*program*/, Action& /*action*/) {}

ModelOptions options_for(const std::string& /*model*/, const ServerOptions& options,
                         const std::string& /*other*/) {
  const std::string given = options.first_given();
  if (given.empty()) return {};
  throw ConfigError(given + ": this program was built without models of servers (TENSOA_REMOTE)");
}

struct ServiceRun::Before {};

ServiceRun::ServiceRun(const std::string& /*model*/, const ModelOptions& /*options*/) {}
ServiceRun::~ServiceRun() = default;

nlohmann::json ServiceRun::figures() const { return nlohmann::json::array(); }

std::string service_metrics() { return {}; }

}  // namespace tensoa::tools
