// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "remote_seam.hpp"

namespace tensoa::c {

void register_remote() {}

ModelOptions options_for_file(const std::string& /*checksum*/) { return {}; }

}  // namespace tensoa::c
