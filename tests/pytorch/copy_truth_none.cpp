// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "copy_truth.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa {

SeenOnQueue watch_queue(const Queue&, std::size_t, const std::function<void()>&) {
  throw DeviceError("watch_queue: this build has no CUDA");
}

}  // namespace tensoa
