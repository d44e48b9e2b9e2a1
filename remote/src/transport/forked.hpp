// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tensoa::remote {

/// Before gRPC is loaded: its threads are not in a process that is forked from this one.
void watch_for_forks();

/// Whether this process was forked from one that had loaded gRPC: no server can be called from it, and nothing of gRPC be freed.
bool is_forked() noexcept;

/// The end of messages about it.
inline constexpr const char* kForked =
    "this process was forked from one that had loaded models of servers, where gRPC does not work; "
    "load them in the process "
    "that calls them, or start it otherwise (multiprocessing of Python: the start method \"spawn\" "
    "or \"forkserver\")";

}  // namespace tensoa::remote
