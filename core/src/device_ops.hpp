// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

// The seam between tensoa and a GPU runtime. One implementation is linked in, chosen by CMake:
// device_ops_cuda.cpp over the CUDA runtime, device_ops_none.cpp without any. Callers have checked
// that the device index is there. Functions throw DeviceError unless they are noexcept, and leave
// the calling thread's current device as it was.

namespace tensoa::detail {

/// Devices that can be used; 0 without a driver.
int gpu_count() noexcept;

std::string gpu_name(int device);

void* gpu_stream_create(int device);
void gpu_stream_destroy(int device, void* stream) noexcept;
void gpu_stream_wait(int device, void* stream);

/// Without timing.
void* gpu_event_create(int device);
void gpu_event_destroy(void* event) noexcept;
void gpu_event_record(int device, void* event, void* stream);
/// Enqueues the wait; `device` is that of the stream.
void gpu_stream_wait_event(int device, void* stream, void* event);

void* gpu_allocate(int device, std::size_t bytes);
void gpu_free(int device, void* data) noexcept;

/// Between host and device or within the device; the driver finds out which.
void gpu_copy(int device, void* stream, void* to, const void* from, std::size_t bytes);
void gpu_zero(int device, void* stream, void* data, std::size_t bytes);

}  // namespace tensoa::detail
