// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <new>

#include "stream_guard.hpp"

namespace tensoa::pytorch {

struct StreamGuard::Switched {
  explicit Switched(const Queue& queue)
      : guard(c10::cuda::getStreamFromExternal(
            static_cast<cudaStream_t>(queue.native_handle()),
            static_cast<c10::DeviceIndex>(queue.device().index))) {}

  c10::cuda::CUDAStreamGuard guard;
};

StreamGuard::StreamGuard(const Queue& queue) {
  static_assert(sizeof(Switched) <= sizeof(memory_) && alignof(Switched) <= alignof(StreamGuard));
  if (!queue.device().is_cpu()) switched_ = new (memory_.data()) Switched(queue);
}
StreamGuard::~StreamGuard() {
  if (switched_ != nullptr) switched_->~Switched();
}

}  // namespace tensoa::pytorch
