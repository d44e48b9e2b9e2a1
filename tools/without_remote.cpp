// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "remote_seam.hpp"

namespace tensoa::tools {

void register_remote() {}

}  // namespace tensoa::tools
