// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "tensoa/core/device.hpp"
#include "tensoa/core/imported_memory.hpp"

// The seam between tensoa and a GPU runtime. One implementation is linked in, chosen by CMake:
// device_ops_gpu.cpp over the CUDA or the HIP runtime, device_ops_none.cpp without any; programs of
// tests can take tests/support/device_double.cpp. Callers have checked that the device index is
// there. Functions throw DeviceFullError, DeviceLostError or another DeviceError unless they are
// noexcept, and leave the calling thread's current device as it was, but for gpu_enter.

namespace tensoa::detail {

struct StridedCopy;
struct PaddedRows;
struct GroupMask;
struct GroupSegments;

/// Devices that can be used, fewer than kMaxDevices; 0 without a driver.
int gpu_count() noexcept;
/// Why no GPU can be used although there may be one, as the end of a message; empty where one can, and without a driver.
std::string gpu_problem();

std::string gpu_name(int device);
DeviceMemory gpu_memory(int device);

/// Finds the GPU whose memory `data` points into; -1: of the host.
int gpu_device_of(const void* data);

/// For all streams of `device`.
void gpu_wait(int device);

/// Makes `device` current in this thread, until gpu_leave, without touching the one before. Pairs end in
/// the reverse order of their beginning. @return the one before, for gpu_leave
int gpu_enter(int device);
void gpu_leave(int before) noexcept;

void* gpu_stream_create(int device);
void gpu_stream_destroy(int device, void* stream) noexcept;
void gpu_stream_wait(int device, void* stream);
/// Calls once, from a thread of the driver's, with the DeviceError of the work before, if it failed; never
/// where this throws.
void gpu_stream_when_done(int device, void* stream, std::function<void(std::exception_ptr)> call);
/// The device of a borrowed stream, which the caller says is on `device`. A default stream has any.
int gpu_stream_device(int device, void* stream);

/// Without timing.
void* gpu_event_create(int device);
void gpu_event_destroy(int device, void* event) noexcept;
void gpu_event_record(int device, void* event, void* stream);
bool gpu_event_is_reached(int device, void* event);
void gpu_event_wait(int device, void* event);
/// Enqueues the wait; `device` is that of the stream, or any where it is not a default stream.
void gpu_stream_wait_event(int device, void* stream, void* event);

void* gpu_allocate(int device, std::size_t bytes);
void gpu_free(int device, void* data) noexcept;

/// Allocates from a pool of the device, for work that is enqueued on `stream` afterwards.
void* gpu_allocate_in_order(int device, void* stream, std::size_t bytes);
/// Frees after the work that was enqueued on `stream` before.
void gpu_free_in_order(int device, void* stream, void* data) noexcept;

/// Names an allocation of gpu_allocate to other processes.
MemoryHandle gpu_export(int device, void* data);
/// The allocation of another process. @throws DeviceError, also for one of this process
void* gpu_import(int device, const MemoryHandle& handle);
void gpu_import_end(int device, void* data) noexcept;

/// Host memory that the GPU reads and writes by itself.
void* gpu_allocate_pinned(int device, std::size_t bytes);
void gpu_free_pinned(int device, void* data) noexcept;

/// Between host and device or within the device; the driver finds out which.
void gpu_copy(int device, void* stream, void* to, const void* from, std::size_t bytes);
/// `height` rows of `width` bytes, that begin `to_pitch` and `from_pitch` bytes apart.
void gpu_copy_2d(int device, void* stream, void* to, std::size_t to_pitch, const void* from,
                 std::size_t from_pitch, std::size_t width, std::size_t height);

// Within the device, by a kernel: element_kernels_cuda.cu or element_kernels_none.cpp is linked.

bool gpu_has_kernels() noexcept;
/// @throws ConfigError where there are no kernels
void gpu_write(int device, void* stream, std::span<const StridedCopy> copies);
void gpu_write(int device, void* stream, const PaddedRows& rows);
void gpu_write(int device, void* stream, const GroupMask& mask);
void gpu_write(int device, void* stream, const GroupSegments& segments);

void gpu_zero(int device, void* stream, void* data, std::size_t bytes);

/// A handle that the caller owns, without an allocation.
inline std::shared_ptr<void> unowned(void* handle) noexcept {
  return {std::shared_ptr<void>(), handle};
}

}  // namespace tensoa::detail
