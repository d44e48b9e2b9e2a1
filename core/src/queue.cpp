// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/queue.hpp"

#include <cstdint>
#include <utility>

#include "device_ops.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/event.hpp"

namespace tensoa {
namespace {

constexpr std::uintptr_t kPerThreadDefaultStream = 2;  // of CUDA and of HIP

}  // namespace

Queue::Queue(Device device) : device_(device) {
  require_available(device);
  if (device.is_cpu()) return;
  stream_ = {detail::gpu_stream_create(device.index),
             [index = device.index](void* stream) { detail::gpu_stream_destroy(index, stream); }};
}

Queue::Queue(Device device, std::shared_ptr<void> stream) noexcept
    : device_(device), stream_(std::move(stream)) {}

Queue Queue::borrow(Device device, void* native_stream) {
  if (device.is_cpu()) {
    throw ConfigError("Queue::borrow: a CPU queue has no native stream; use Queue(Device::cpu())");
  }
  if (native_stream == nullptr) {
    throw ConfigError(
        "Queue::borrow: got the null stream, which waits for every other stream; pass one made "
        "with "
        "cudaStreamCreateWithFlags(…, cudaStreamNonBlocking)");
  }
  if (reinterpret_cast<std::uintptr_t>(native_stream) == kPerThreadDefaultStream) {
    throw ConfigError(
        "Queue::borrow: got the handle 2, the per-thread default stream, which is another stream "
        "in "
        "each thread; expected one stream for all threads; pass one made with "
        "cudaStreamCreateWithFlags(…, cudaStreamNonBlocking)");
  }
  require_available(device);
  const int there = detail::gpu_stream_device(device.index, native_stream);
  if (there != device.index) {
    throw DeviceError("Queue::borrow: got a stream of " + to_string(Device::cuda(there)) +
                      " as one of " + to_string(device) +
                      "; pass the device that the stream was made on (indices are those after "
                      "CUDA_VISIBLE_DEVICES)");
  }
  return {device, detail::unowned(native_stream)};
}

void Queue::wait() const {
  if (!device_.is_cpu()) detail::gpu_stream_wait(device_.index, stream_.get());
}

void Queue::when_done(std::function<void()> call) const {
  if (!call) throw ConfigError("Queue::when_done: got no function, expected one to call");
  when_settled([call = std::move(call)](const std::exception_ptr&) { call(); });
}

void Queue::when_settled(std::function<void(std::exception_ptr failure)> call) const {
  if (!call) throw ConfigError("Queue::when_settled: got no function, expected one to call");
  if (device_.is_cpu()) {
    call(nullptr);
  } else {
    detail::gpu_stream_when_done(device_.index, stream_.get(), std::move(call));
  }
}

void Queue::wait_for(const Event& event) const {
  if (event.device().is_cpu()) return;
  if (device_.is_cpu()) {
    throw ConfigError("Queue::wait_for: a queue of the cpu cannot wait for an event of " +
                      to_string(event.device()) +
                      " without blocking; call wait() of the queue there");
  }
  detail::gpu_stream_wait_event(device_.index, stream_.get(), event.native_handle());
}

}  // namespace tensoa
