// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// What the program asks of remote/: a seam. with_remote.cpp or without_remote.cpp is linked.

namespace tensoa::tools {

/// Makes models of servers known, where the build has them.
void register_remote();

}  // namespace tensoa::tools
