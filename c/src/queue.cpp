// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "queue.hpp"

#include <exception>
#include <memory>
#include <utility>

#include "errors.hpp"
#include "handles.hpp"
#include "tensoa/core/device.hpp"

using tensoa::Device;
using tensoa::Queue;
using tensoa::c::guarded;
using tensoa::c::Handles;
using tensoa::c::require;
using tensoa::c::require_place;

namespace {

void give(Queue made, tensoa_queue** queue) {
  auto handle = std::make_unique<tensoa_queue>(tensoa_queue{std::move(made)});
  Handles<tensoa_queue>::add(handle.get());
  *queue = handle.release();
}

Device device_of(const char* text) {
  if (text == nullptr) throw tensoa::ConfigError("device is NULL, expected cpu, cuda:N or auto");
  return tensoa::parse_device(text);
}

}  // namespace

tensoa_status tensoa_new_queue(const char* device, tensoa_queue** queue) {
  return guarded([&] { give(Queue(device_of(device)), require_place(queue, "queue")); });
}

tensoa_status tensoa_borrow_stream(const char* device, void* stream, tensoa_queue** queue) {
  return guarded(
      [&] { give(Queue::borrow(device_of(device), stream), require_place(queue, "queue")); });
}

tensoa_status tensoa_wait(const tensoa_queue* queue) {
  return guarded([&] { require(queue, "queue").queue.wait(); });
}

tensoa_status tensoa_when_done(const tensoa_queue* queue, void (*done)(void*, const char*),
                               void* context) {
  return guarded([&] {
    if (done == nullptr) throw tensoa::ConfigError("done is NULL, expected a function");
    require(queue, "queue").queue.when_settled([done, context](std::exception_ptr failure) {
      if (failure == nullptr) {
        done(context, nullptr);
        return;
      }
      try {
        std::rethrow_exception(failure);
      } catch (const std::exception& error) {
        done(context, error.what());
      }
    });
  });
}

void tensoa_free_queue(tensoa_queue* queue) {
  if (queue == nullptr) return;
  guarded([&] { tensoa::c::free_once(queue, "queue"); });
}
