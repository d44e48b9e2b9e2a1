// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <new>
#include <utility>

#include "stream_guard.hpp"
#include "tensoa/core/device_guard.hpp"
#include "torch_memory.hpp"

namespace tensoa::pytorch {
namespace {

thread_local void* t_current = nullptr;

}  // namespace

struct StreamGuard::Switched {
  explicit Switched(const Queue& queue)
      : device(queue),
        guard(
            c10::cuda::getStreamFromExternal(static_cast<cudaStream_t>(queue.native_handle()),
                                             static_cast<c10::DeviceIndex>(queue.device().index))),
        within_budget(queue.device()),
        before(std::exchange(t_current, queue.native_handle())) {}
  ~Switched() { t_current = before; }
  Switched(const Switched&) = delete;
  Switched& operator=(const Switched&) = delete;

  DeviceGuard device;  // torch's would leave the device current where the one before has no context
  c10::cuda::CUDAStreamGuard guard;
  WithinBudget within_budget;
  void* before;
};

StreamGuard::StreamGuard(const Queue& queue) {
  static_assert(sizeof(Switched) <= sizeof(memory_) && alignof(Switched) <= alignof(StreamGuard));
  if (!queue.device().is_cpu()) switched_ = new (memory_.data()) Switched(queue);
}
StreamGuard::~StreamGuard() {
  if (switched_ != nullptr) switched_->~Switched();
}

void* StreamGuard::current() noexcept { return t_current; }

}  // namespace tensoa::pytorch
