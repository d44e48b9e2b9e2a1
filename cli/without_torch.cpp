// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/engines.hpp"

namespace tensoa::cli {

std::string torch_version() { return {}; }

void register_torch() {}

}  // namespace tensoa::cli
