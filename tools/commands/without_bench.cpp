// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "command.hpp"

namespace tensoa::tools {

void add_bench_command(CLI::App& /*program*/, Action& /*action*/,
                       const std::string& /*command_line*/) {}

}  // namespace tensoa::tools
