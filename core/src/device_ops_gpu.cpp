// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "device_ops.hpp"
#include "driver_calls.hpp"
#include "gpu_runtime.hpp"
#include "tensoa/core/device_errors.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/queue_memory.hpp"

namespace tensoa::detail {
namespace {

std::string name_of(int device) { return to_string(Device::cuda(device)); }

/// `what` is a function, so that a call that succeeds builds no text.
template <class What>
void check(gpu::Error status, int device, const What& what) {
  if (status != gpu::kSuccess)
    throw_gpu_error(Device::cuda(device), what(), static_cast<int>(status));
}

/// Makes `device` current in this thread and puts the one before back. Also for calls that have a
/// stream or an event to go by: a default stream is that of the current device, and a call begins to
/// use that device, or fails where it is lost.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) : before_(gpu_enter(device)) {}
  ~CurrentDevice() { gpu_leave(before_); }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_;
};

/// For calls that must not fail: freeing memory on a lost device continues without an error. An error
/// of the caller's own code is kept for the caller.
template <class Function>
void call_on(int device, const Function& function) noexcept {
  int before = 0;
  driver_entered(device);
  const bool is_there = gpu::enter(device, before) == gpu::kSuccess;
  const bool has_failed = function() != gpu::kSuccess;
  if (is_there) gpu::leave(before);
  driver_left();
  if (has_failed || !is_there) static_cast<void>(gpu::get_last_error());
}

gpu::Stream stream_of(void* stream) { return static_cast<gpu::Stream>(stream); }
gpu::Event event_of(void* event) { return static_cast<gpu::Event>(event); }

/// The typed error of a call that failed. Calls nothing of the runtime but for its texts.
std::exception_ptr error_of(Device device, const std::string& what, gpu::Error status) {
  const std::string name = to_string(device);
  const std::string message =
      what + " on " + name + ": " + gpu::get_error_string(status) + " (" + gpu::kName + ")";
  if (std::ranges::find(gpu::kLost, status) != gpu::kLost.end()) {
    // A kernel that crashed takes all GPUs of the process with it (CUDA 13, driver 580, two H100).
    return std::make_exception_ptr(DeviceLostError(
        message + "; this process can use " + name +
        " no more, and mostly no other GPU: go on with the CPU, or in a new process"));
  }
  if (status == gpu::kOutOfMemory) {
    return std::make_exception_ptr(
        DeviceFullError(message + "; free some memory, or use fewer queues"));
  }
  if (status == gpu::kInvalidHandle) {
    return std::make_exception_ptr(DeviceError(
        message + "; the stream or event was destroyed, or belongs to another device than " +
        name));
  }
  return std::make_exception_ptr(DeviceError(message));
}

struct Call {
  int device;
  std::function<void(std::exception_ptr)> function;
};

/// In a thread of the driver's, which may not ask it for anything.
void make_call(gpu::Stream, gpu::Error status, void* data) noexcept {
  const std::unique_ptr<Call> call(static_cast<Call*>(data));
  call->function(status == gpu::kSuccess
                     ? nullptr
                     : error_of(Device::cuda(call->device), "running what was enqueued", status));
}

/// No driver or no device is an answer, which the runtime keeps as an error.
gpu::Error count_devices(int& count) noexcept {
  const gpu::Error status = gpu::get_device_count(&count);
  if (status != gpu::kSuccess) static_cast<void>(gpu::get_last_error());
  return status;
}

std::string version(int number) {
  return std::to_string(number / gpu::kMajorVersion) + '.' +
         std::to_string(number % gpu::kMajorVersion / gpu::kMinorVersion);
}

}  // namespace

int gpu_count() noexcept {
  int count = 0;
  return count_devices(count) == gpu::kSuccess ? std::min(count, kMaxDevices - 1) : 0;
}

std::string gpu_problem() {
  int count = 0;
  const gpu::Error status = count_devices(count);
  if (status == gpu::kSuccess) return "";
  int driver = 0;
  int runtime = 0;
  static_cast<void>(gpu::driver_version(&driver));
  static_cast<void>(gpu::runtime_version(&runtime));
  if (driver == 0 || status == gpu::kNoDevice) return "";
  if (status == gpu::kOldDriver) {
    return std::string("; the driver is of ") + gpu::kName + ' ' + version(driver) +
           ", this tensoa needs one of " + version(runtime) + " or a later one";
  }
  return std::string("; ") + gpu::kName + " says: " + gpu::get_error_string(status);
}

std::string gpu_name(int device) {
  gpu::Properties properties{};
  check(gpu::get_properties(properties, device), device, [] { return "querying the name"; });
  return properties.name;
}

DeviceMemory gpu_memory(int device) {
  const CurrentDevice current(device);
  DeviceMemory memory;
  check(gpu::memory_info(&memory.free, &memory.total), device,
        [] { return "querying the memory"; });
  return memory;
}

int gpu_device_of(const void* data) {
  if (gpu_count() == 0) return -1;
  int device = -1;
  check(gpu::device_of(data, &device), 0, [] { return "asking where memory lies"; });
  return device;
}

void gpu_wait(int device) {
  const CurrentDevice current(device);
  check(gpu::device_synchronize(), device, [] { return "waiting for all work"; });
}

int gpu_enter(int device) {
  int before = 0;
  check(gpu::enter(device, before), device, [] { return "switching"; });
  driver_entered(device);
  return before;
}

void gpu_leave(int before) noexcept {
  gpu::leave(before);
  driver_left();
}

void* gpu_stream_create(int device) {
  const CurrentDevice current(device);
  gpu::Stream stream = nullptr;
  check(gpu::stream_create(&stream, gpu::kNonBlocking), device, [] { return "making a stream"; });
  return stream;
}

void gpu_stream_destroy(int device, void* stream) noexcept {
  call_on(device, [&] { return gpu::stream_destroy(stream_of(stream)); });
}

void gpu_stream_wait(int device, void* stream) {
  const CurrentDevice current(device);
  check(gpu::stream_synchronize(stream_of(stream)), device, [] { return "waiting for a stream"; });
}

// Not by cudaLaunchHostFunc, whose function is never called once the context has failed: who waits
// for the call would wait for ever.
void gpu_stream_when_done(int device, void* stream, std::function<void(std::exception_ptr)> call) {
  const CurrentDevice current(device);
  auto kept = std::make_unique<Call>(Call{device, std::move(call)});
  check(gpu::stream_add_callback(stream_of(stream), make_call, kept.get(), 0), device,
        [] { return "enqueuing a call"; });
  static_cast<void>(kept.release());  // make_call has it
}

int gpu_stream_device(int device, void* stream) {
  constexpr std::uintptr_t kLastDefaultStream = 2;  // 1: legacy, 2: of the thread
  if (reinterpret_cast<std::uintptr_t>(stream) <= kLastDefaultStream) return device;
  const CurrentDevice current(device);
  int there = device;
  check(gpu::stream_device(stream_of(stream), &there), device, [] { return "taking a stream"; });
  return there;
}

void* gpu_event_create(int device) {
  const CurrentDevice current(device);
  gpu::Event event = nullptr;
  check(gpu::event_create(&event, gpu::kNoTiming), device, [] { return "making an event"; });
  return event;
}

void gpu_event_destroy(int device, void* event) noexcept {
  call_on(device, [&] { return gpu::event_destroy(event_of(event)); });
}

void gpu_event_record(int device, void* event, void* stream) {
  const CurrentDevice current(device);
  check(gpu::event_record(event_of(event), stream_of(stream)), device,
        [] { return "recording an event"; });
}

bool gpu_event_is_reached(int device, void* event) {
  const CurrentDevice current(device);
  const gpu::Error status = gpu::event_query(event_of(event));
  if (status == gpu::kNotReady) {
    static_cast<void>(gpu::get_last_error());  // an answer, which the runtime keeps as an error
    return false;
  }
  check(status, device, [] { return "querying an event"; });
  return true;
}

void gpu_event_wait(int device, void* event) {
  const CurrentDevice current(device);
  check(gpu::event_synchronize(event_of(event)), device, [] { return "waiting for an event"; });
}

void gpu_stream_wait_event(int device, void* stream, void* event) {
  const CurrentDevice current(device);
  check(gpu::stream_wait_event(stream_of(stream), event_of(event), 0), device,
        [] { return "enqueuing a wait"; });
}

void* gpu_allocate(int device, std::size_t bytes) {
  const CurrentDevice current(device);
  void* data = nullptr;
  const gpu::Error status = gpu::allocate(&data, bytes);
  const auto what = [&] { return "allocating " + std::to_string(bytes) + " bytes"; };
  if (status == gpu::kOutOfMemory) {
    static_cast<void>(gpu::get_last_error());
    const DeviceMemory memory = gpu_memory(device);
    throw DeviceFullError(what() + " on " + name_of(device) + ": the device is full, " +
                          std::to_string(memory.free) + " of " + std::to_string(memory.total) +
                          " bytes are free");
  }
  check(status, device, what);
  return data;
}

void gpu_free(int device, void* data) noexcept {
  call_on(device, [&] { return gpu::release(data); });
}

namespace {

/// One for each device, made at its first use, never destroyed. nullptr where the driver has none.
struct Pools {
  struct Entry {
    std::once_flag once;
    gpu::Pool pool = nullptr;
  };
  std::array<Entry, kMaxDevices> of_devices;

  static gpu::Pool of(int device) {
    static auto* const pools = new Pools;
    Entry& entry = pools->of_devices[static_cast<std::size_t>(device)];
    std::call_once(entry.once, [&] { entry.pool = made(device); });
    return entry.pool;
  }

 private:
  static gpu::Pool made(int device) {
    gpu::PoolProperties properties{};
    properties.allocType = gpu::kPoolMemory;
    properties.location.type = gpu::kPoolOfDevice;
    properties.location.id = device;
    std::uint64_t kept = QueueMemory::kKept;
    gpu::Pool pool = nullptr;
    if (gpu::pool_create(&pool, &properties) != gpu::kSuccess) {
      static_cast<void>(gpu::get_last_error());
      return nullptr;
    }
    if (gpu::pool_set(pool, gpu::kPoolKept, &kept) == gpu::kSuccess) return pool;
    static_cast<void>(gpu::pool_destroy(pool));
    static_cast<void>(gpu::get_last_error());
    return nullptr;
  }
};

}  // namespace

void* gpu_allocate_in_order(int device, void* stream, std::size_t bytes) {
  const CurrentDevice current(device);
  const gpu::Pool pool = Pools::of(device);
  if (pool == nullptr) return gpu_allocate(device, bytes);
  void* data = nullptr;
  const gpu::Error status = gpu::pool_allocate(&data, bytes, pool, stream_of(stream));
  if (status == gpu::kOutOfMemory) {
    static_cast<void>(gpu::get_last_error());
    static_cast<void>(gpu::pool_trim(pool, 0));
    return gpu_allocate(device, bytes);  // its error has the free bytes
  }
  check(status, device, [&] { return "allocating " + std::to_string(bytes) + " bytes"; });
  return data;
}

void gpu_free_in_order(int device, void* stream, void* data) noexcept {
  call_on(device, [&] {
    if (gpu::release_in_order(data, stream_of(stream)) == gpu::kSuccess) return gpu::kSuccess;
    // It is of gpu_allocate, or the stream is gone, whose work may still use it: release() does not wait for memory of pools.
    static_cast<void>(gpu::get_last_error());
    static_cast<void>(gpu::device_synchronize());
    return gpu::release(data);
  });
}

MemoryHandle gpu_export(int device, void* data) {
  const CurrentDevice current(device);
  gpu::MemoryHandle handle{};
  check(gpu::export_memory(&handle, data), device,
        [] { return "exporting memory to other processes"; });
  return std::bit_cast<MemoryHandle>(handle);
}

void* gpu_import(int device, const MemoryHandle& handle) {
  const CurrentDevice current(device);
  void* data = nullptr;
  check(gpu::import_memory(&data, std::bit_cast<gpu::MemoryHandle>(handle)), device,
        [] { return "opening memory of another process"; });
  return data;
}

void gpu_import_end(int device, void* data) noexcept {
  call_on(device, [&] { return gpu::import_end(data); });
}

void* gpu_allocate_pinned(int device, std::size_t bytes) {
  const CurrentDevice current(device);
  void* data = nullptr;
  check(gpu::allocate_pinned(&data, bytes), device,
        [&] { return "pinning " + std::to_string(bytes) + " bytes of host memory"; });
  return data;
}

void gpu_free_pinned(int device, void* data) noexcept {
  call_on(device, [&] { return gpu::release_pinned(data); });
}

void gpu_copy(int device, void* stream, void* to, const void* from, std::size_t bytes) {
  const CurrentDevice current(device);
  check(gpu::copy(to, from, bytes, gpu::kAnyDirection, stream_of(stream)), device,
        [&] { return "copying " + std::to_string(bytes) + " bytes"; });
}

void gpu_copy_2d(int device, void* stream, void* to, std::size_t to_pitch, const void* from,
                 std::size_t from_pitch, std::size_t width, std::size_t height) {
  const CurrentDevice current(device);
  check(gpu::copy_2d(to, to_pitch, from, from_pitch, width, height, gpu::kAnyDirection,
                     stream_of(stream)),
        device, [&] {
          return "copying " + std::to_string(height) + " rows of " + std::to_string(width) +
                 " bytes";
        });
}

void gpu_zero(int device, void* stream, void* data, std::size_t bytes) {
  const CurrentDevice current(device);
  check(gpu::set(data, 0, bytes, stream_of(stream)), device,
        [&] { return "zeroing " + std::to_string(bytes) + " bytes"; });
}

}  // namespace tensoa::detail

namespace tensoa {

void throw_gpu_error(Device device, const std::string& what, int status) {
  static_cast<void>(detail::gpu::get_last_error());  // else the next call that asks returns it
  std::rethrow_exception(detail::error_of(device, what, static_cast<detail::gpu::Error>(status)));
}

}  // namespace tensoa
