// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "seams/remote_seam.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::tools {

void register_remote() {}

ModelOptions with_fallback(const std::string& /*model*/, const std::string& fallback) {
  if (fallback.empty()) return {};
  throw ConfigError("--fallback: this program was built without models of servers (TENSOA_REMOTE)");
}

}  // namespace tensoa::tools
