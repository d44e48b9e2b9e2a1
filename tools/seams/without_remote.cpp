// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "command.hpp"
#include "seams/remote_seam.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::tools {

void register_remote() {}

void add_top_command(CLI::App& /*program*/, Action& /*action*/) {}

ModelOptions with_fallback(const std::string& /*model*/, const std::string& fallback) {
  if (fallback.empty()) return {};
  throw ConfigError("--fallback: this program was built without models of servers (TENSOA_REMOTE)");
}

struct ServiceRun::Before {};

ServiceRun::ServiceRun(const std::string& /*model*/) {}
ServiceRun::~ServiceRun() = default;

nlohmann::json ServiceRun::figures() const { return nlohmann::json::array(); }

std::string service_metrics() { return {}; }

}  // namespace tensoa::tools
