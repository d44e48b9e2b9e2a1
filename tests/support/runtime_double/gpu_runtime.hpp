// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

// The names of core/src/{cuda,hip}/gpu_runtime.hpp over nothing, for tests of device_ops_gpu.cpp itself.
// As in the real runtimes, each thread has a current device, a call works on that one (and fails where
// it is lost), and an error stays until it is read.

namespace tensoa::detail::gpu {

inline constexpr auto kName = "simulated";

enum class Error { kNone, kPending, kFull, kHandle, kGone, kOfTheCaller, kNothing, kOld };
using Stream = void*;
using Event = void*;
using MemoryHandle = std::array<std::byte, 64>;
struct Properties {
  std::string name;
};

inline constexpr Error kSuccess = Error::kNone;
inline constexpr Error kNotReady = Error::kPending;
inline constexpr Error kOutOfMemory = Error::kFull;
inline constexpr Error kInvalidHandle = Error::kHandle;
inline constexpr Error kNoDevice = Error::kNothing;
inline constexpr Error kOldDriver = Error::kOld;
inline constexpr std::array kLost{Error::kGone};
inline constexpr unsigned kNonBlocking = 1;
inline constexpr unsigned kNoTiming = 1;
inline constexpr int kAnyDirection = 1;

/// Of two devices; for one thread.
struct Runtime {
  int current = 0;
  std::array<bool, 2> is_lost{};
  std::array<bool, 2> is_full{};
  bool is_destroyed = false;                      ///< every stream and event
  std::array<std::vector<std::string>, 2> calls;  ///< on each device
  Error last = kSuccess;
  Error counting = kSuccess;  ///< of get_device_count
  int driver = 13'000;

  static Runtime& get() {
    static Runtime runtime;
    return runtime;
  }

  Error call(const char* name, bool takes_memory = false) {
    const auto device = static_cast<std::size_t>(current);
    calls[device].emplace_back(name);
    if (is_lost[device]) return last = Error::kGone;
    if (takes_memory && is_full[device]) return last = Error::kFull;
    return kSuccess;
  }

  Error call_with_handle(const char* name) {
    const Error error = call(name);
    return error == kSuccess && is_destroyed ? last = Error::kHandle : error;
  }

  /// A handle that says which device it is of.
  void* handle() const { return const_cast<int*>(&kHandles[static_cast<std::size_t>(current)]); }
  static int device_of(const void* handle) { return *static_cast<const int*>(handle); }

  static constexpr std::array kHandles{0, 1};
};

inline const char* get_error_string(Error) { return "an error"; }
inline Error get_last_error() { return std::exchange(Runtime::get().last, kSuccess); }
inline Error get_device_count(int* count) {
  const Error error = Runtime::get().counting;
  *count = error == kSuccess ? 2 : 0;
  return Runtime::get().last = error;
}
inline constexpr int kMajorVersion = 1000;
inline constexpr int kMinorVersion = 10;
inline Error driver_version(int* version) {
  *version = Runtime::get().driver;
  return kSuccess;
}
inline Error runtime_version(int* version) {
  *version = 13'010;
  return kSuccess;
}
inline Error enter(int device, int& before) {
  before = std::exchange(Runtime::get().current, device);
  return kSuccess;
}
inline void leave(int before) { Runtime::get().current = before; }
inline Error get_properties(Properties& properties, int) {
  properties.name = "simulated";
  return kSuccess;
}
inline Error memory_info(std::size_t* free, std::size_t* total) {
  *free = 7;
  *total = 1000;
  return Runtime::get().call("memory_info");
}

inline Error stream_create(Stream* stream, unsigned) {
  *stream = Runtime::get().handle();
  return Runtime::get().call("stream_create", true);
}
inline Error stream_destroy(Stream) { return Runtime::get().call("stream_destroy"); }
inline Error stream_synchronize(Stream) {
  return Runtime::get().call_with_handle("stream_synchronize");
}
inline Error stream_wait_event(Stream, Event, unsigned) {
  return Runtime::get().call_with_handle("stream_wait_event");
}
inline Error stream_add_callback(Stream stream, void (*call)(Stream, Error, void*), void* data,
                                 unsigned) {
  const Error status = Runtime::get().call("stream_add_callback");
  if (status == kSuccess) call(stream, kSuccess, data);
  return status;
}
inline Error stream_device(Stream stream, int* device) {
  *device = Runtime::device_of(stream);
  return Runtime::get().call_with_handle("stream_device");
}
inline Error event_create(Event* event, unsigned) {
  *event = Runtime::get().handle();
  return Runtime::get().call("event_create", true);
}
inline Error event_destroy(Event) { return Runtime::get().call("event_destroy"); }
inline Error event_record(Event, Stream) { return Runtime::get().call_with_handle("event_record"); }
inline Error event_query(Event) { return Runtime::get().call_with_handle("event_query"); }
inline Error event_synchronize(Event) {
  return Runtime::get().call_with_handle("event_synchronize");
}

inline Error allocate(void** data, std::size_t) {
  *data = Runtime::get().handle();
  return Runtime::get().call("allocate", true);
}
inline Error release(void*) { return Runtime::get().call("release"); }
using Pool = void*;
struct PoolProperties {
  int allocType = 0;
  struct {
    int type = 0;
    int id = 0;
  } location;
};
inline constexpr int kPoolOfDevice = 1;
inline constexpr int kPoolMemory = 1;
inline constexpr int kPoolKept = 1;
inline Error pool_create(Pool* pool, const PoolProperties*) {
  *pool = Runtime::get().handle();
  return Runtime::get().call("pool_create");
}
inline Error pool_set(Pool, int, void*) { return Runtime::get().call("pool_set"); }
inline Error pool_destroy(Pool) { return Runtime::get().call("pool_destroy"); }
inline Error pool_allocate(void** data, std::size_t, Pool, Stream) {
  *data = Runtime::get().handle();
  return Runtime::get().call("pool_allocate", true);
}
inline Error pool_trim(Pool, std::size_t) { return Runtime::get().call("pool_trim"); }
inline Error release_in_order(void*, Stream) {
  return Runtime::get().call_with_handle("release_in_order");
}
inline Error device_synchronize() { return Runtime::get().call("device_synchronize"); }
inline Error device_of(const void* data, int* device) {
  *device = Runtime::device_of(data);
  return kSuccess;
}
inline Error export_memory(MemoryHandle* handle, void*) {
  *handle = {std::byte{1}};
  return Runtime::get().call("export_memory");
}
/// Memory that was exported; nothing else is.
inline Error import_memory(void** data, const MemoryHandle& handle) {
  *data = Runtime::get().handle();
  const Error status = Runtime::get().call("import_memory");
  if (status == kSuccess && handle[0] != std::byte{1})
    return Runtime::get().last = Error::kOfTheCaller;
  return status;
}
inline Error import_end(void*) { return Runtime::get().call("import_end"); }
inline Error allocate_pinned(void** data, std::size_t) {
  *data = Runtime::get().handle();
  return Runtime::get().call("allocate_pinned", true);
}
inline Error release_pinned(void*) { return Runtime::get().call("release_pinned"); }
inline Error copy_2d(void*, std::size_t, const void*, std::size_t, std::size_t, std::size_t, int,
                     Stream) {
  return Runtime::get().call_with_handle("copy_2d");
}
inline Error copy(void*, const void*, std::size_t, int, Stream) {
  return Runtime::get().call_with_handle("copy");
}
inline Error set(void*, int, std::size_t, Stream) { return Runtime::get().call_with_handle("set"); }

}  // namespace tensoa::detail::gpu
