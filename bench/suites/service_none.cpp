// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/suites/suites.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::bench {

std::vector<ResultRow> bench_service(const BenchOptions& /*options*/) {
  throw ConfigError(
      "service: this build has no models of servers; configure with TENSOA_REMOTE=ON");
}

}  // namespace tensoa::bench
