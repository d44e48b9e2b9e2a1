// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "stream_guard.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::pytorch {

struct StreamGuard::Switched {};

StreamGuard::StreamGuard(const Queue& queue) {
  if (!queue.device().is_cpu())
    throw DeviceError("this build of tensoa uses a libtorch without CUDA");
}
StreamGuard::~StreamGuard() = default;

void* StreamGuard::current() noexcept { return nullptr; }

}  // namespace tensoa::pytorch
