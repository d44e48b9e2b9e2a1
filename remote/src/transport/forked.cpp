// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "transport/forked.hpp"

#include <pthread.h>

#include <atomic>

namespace tensoa::remote {
namespace {

std::atomic<bool> is_child{false};

}  // namespace

void watch_for_forks() {
  pthread_atfork(nullptr, nullptr, [] { is_child = true; });
}

bool is_forked() noexcept { return is_child; }

}  // namespace tensoa::remote
