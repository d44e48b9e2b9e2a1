// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Models of servers, which a build may lack: with_remote.cpp or without_remote.cpp is linked.

namespace tensoa::c {

/// Makes them known, where there are any.
void register_remote();

}  // namespace tensoa::c
