// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/event.hpp"

#include <utility>

#include "device_ops.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa {

Event::Event(const Queue& queue) : device_(queue.device()) {
  if (device_.is_cpu()) return;
  event_ = {detail::gpu_event_create(device_.index),
            [index = device_.index](void* event) { detail::gpu_event_destroy(index, event); }};
  detail::gpu_event_record(device_.index, event_.get(), queue.native_handle());
}

bool Event::is_reached() const {
  return device_.is_cpu() || detail::gpu_event_is_reached(device_.index, event_.get());
}

void Event::wait() const {
  if (!device_.is_cpu()) detail::gpu_event_wait(device_.index, event_.get());
}

void Event::make_wait(void* native_stream) const {
  if (!device_.is_cpu()) detail::gpu_stream_wait_event(device_.index, native_stream, event_.get());
}

Event::Event(Device device, std::shared_ptr<void> event) noexcept
    : device_(device), event_(std::move(event)) {}

Event Event::borrow(Device device, void* native_event) {
  if (device.is_cpu() || native_event == nullptr) {
    throw ConfigError("Event::borrow: got " +
                      std::string(native_event == nullptr ? "no event" : "an event of the cpu") +
                      ", expected a cudaEvent_t and its CUDA device");
  }
  require_available(device);
  return {device, detail::unowned(native_event)};
}

}  // namespace tensoa
