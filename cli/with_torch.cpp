// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "cli/engines.hpp"
#include "tensoa/pytorch/at_need.hpp"

namespace tensoa::cli {

std::string torch_version() { return pytorch::torch_at_need_version(); }

void register_torch() { pytorch::register_engines_at_need(); }

}  // namespace tensoa::cli
