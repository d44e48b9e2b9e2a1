// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/stream_guard.hpp"

#include <c10/core/StreamGuard.h>
#include <c10/util/Exception.h>

#include <cstdint>
#include <new>
#include <utility>

#include "runtime/torch_memory.hpp"
#include "tensoa/core/device_errors.hpp"
#include "tensoa/core/device_guard.hpp"
#include "tensoa/core/error.hpp"
#include "torchscript/jit_file.hpp"

namespace tensoa::pytorch {
namespace {

constexpr c10::DeviceType kGpu = c10::DeviceType::CUDA;  // AMD's, too, in torch's ROCm builds

thread_local void* t_current = nullptr;

c10::Device device_of(Device device) { return {kGpu, static_cast<c10::DeviceIndex>(device.index)}; }

/// Torch's number of a stream that it has not made is its handle, as in getStreamFromExternal() of CUDA
/// and of HIP.
c10::Stream stream_of(const Queue& queue) {
  const auto id = reinterpret_cast<c10::StreamId>(StreamGuard::torch_stream(queue));
  return c10::Stream(c10::Stream::UNSAFE, device_of(queue.device()), id);
}

/// Torch's current device, put back. Torch does that itself, but where the device before has no context
/// it only keeps it in mind, and forgets it when that is current in another way.
class TorchDevice {
 public:
  TorchDevice() : before_(guard_.getDevice()) {}
  ~TorchDevice() {
    try {
      if (guard_.getDevice() != before_) guard_.uncheckedSetDevice(before_);
    } catch (const std::exception&) {
      // The device is lost: its next use throws.
    }
  }
  TorchDevice(const TorchDevice&) = delete;
  TorchDevice& operator=(const TorchDevice&) = delete;

 private:
  c10::impl::VirtualGuardImpl guard_{kGpu};
  c10::Device before_;
};

}  // namespace

struct StreamGuard::Switched {
  explicit Switched(const Queue& queue)
      : device(queue),
        guard(stream_of(queue)),
        within_budget(queue.device()),
        before(std::exchange(t_current, queue.native_handle())) {}
  ~Switched() { t_current = before; }
  Switched(const Switched&) = delete;
  Switched& operator=(const Switched&) = delete;

  TorchDevice of_torch;
  DeviceGuard device;  // torch's would leave the device current where the one before has no context
  c10::StreamGuard guard;
  WithinBudget within_budget;
  void* before;
};

StreamGuard::StreamGuard(const Queue& queue) {
  static_assert(sizeof(Switched) <= sizeof(memory_) && alignof(Switched) <= alignof(StreamGuard));
  if (queue.device().is_cpu()) return;
  try {
    switched_ = new (memory_.data()) Switched(queue);
  } catch (const c10::Error& error) {
    throw_if_lost(queue, "");
    throw DeviceError("torch cannot use " + to_string(queue.device()) + ": " +
                      short_message(error) +
                      "; use a libtorch for this GPU, or a queue of the CPU");
  }
}

StreamGuard::~StreamGuard() {
  if (switched_ != nullptr) switched_->~Switched();
}

void* StreamGuard::current() noexcept { return t_current; }

void* StreamGuard::torch_stream(const Queue& queue) noexcept {
  constexpr std::uintptr_t kLegacyDefaultStream = 1;
  void* const handle = queue.native_handle();
  return reinterpret_cast<std::uintptr_t>(handle) == kLegacyDefaultStream ? nullptr : handle;
}

void wait_for_device(Device device) noexcept {
  if (device.is_cpu()) return;
  try {
    const DeviceGuard on_device(device);  // put back also where the wait fails
    const c10::DeviceGuard on_device_of_torch(device_of(device));
    c10::impl::VirtualGuardImpl(kGpu).synchronizeDevice(device_of(device).index());
  } catch (const std::exception&) {
    // The driver has stopped (the process ends), or the device is lost: nothing runs any more.
  }
}

}  // namespace tensoa::pytorch
