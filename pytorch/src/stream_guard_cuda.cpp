// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include "stream_guard.hpp"

namespace tensoa::pytorch {

struct StreamGuard::Switched {
  explicit Switched(const Queue& queue)
      : guard(c10::cuda::getStreamFromExternal(
            static_cast<cudaStream_t>(queue.native_handle()),
            static_cast<c10::DeviceIndex>(queue.device().index))) {}

  c10::cuda::CUDAStreamGuard guard;
};

StreamGuard::StreamGuard(const Queue& queue)
    : switched_(queue.device().is_cpu() ? nullptr : std::make_unique<Switched>(queue)) {}
StreamGuard::~StreamGuard() = default;

}  // namespace tensoa::pytorch
