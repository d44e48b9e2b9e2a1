// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/engines.hpp"

namespace tensoa::cli {

void register_remote(const CLI::App& /*command*/) {}

}  // namespace tensoa::cli
