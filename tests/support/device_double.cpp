// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "device_double.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include "device_ops.hpp"
#include "driver_calls.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"

namespace tensoa {
namespace {

using Clock = std::chrono::steady_clock;

/// A point in a stream; later ones of the same event are others.
struct Point {
  bool is_reached = false;
};

struct FakeEvent {
  int device = 0;
  bool is_destroyed = false;
  std::shared_ptr<Point> recorded;
};

struct Work {
  std::shared_ptr<Point> after;  ///< what it waits for, if anything
  std::function<void()> run;
  std::function<void(std::exception_ptr)> call =
      {};                      ///< of the host, also where the device is lost
  Clock::time_point end = {};  ///< by the clock
};

struct FakeStream {
  int device = 0;
  bool is_destroyed = false;  ///< goes when its work is done
  bool is_default = false;
  std::deque<Work> pending;
};

struct FakeGpu {
  bool is_lost = false;
  bool is_held = false;
  std::size_t used = 0;
  std::array<Clock::time_point, 2> free_at{};  ///< it does two pieces of work at a time
};

/// The driver of a device, which does one call at a time.
struct Driver {
  bool has_context = false;
  Clock::time_point free_at{};
};

struct Allocation {
  int device = 0;
  std::size_t bytes = 0;
};

DeviceLostError lost(int device) {
  return DeviceLostError("cuda:" + std::to_string(device) +
                         " is lost; go on with the other devices");
}

/// All simulated devices, under one lock.
struct Machine {
  std::mutex mutex;
  std::condition_variable progress;
  std::deque<FakeGpu> gpus{2};
  std::size_t capacity = std::size_t{1} << 30U;
  std::size_t kernels = 0;
  test::DeviceDouble::Times times;
  std::deque<Driver> drivers{2};
  bool has_clock = false;
  std::condition_variable timed;  ///< there is work that ends by the clock
  bool is_host_full = false;
  std::map<void*, std::unique_ptr<FakeStream>> streams;
  std::map<std::pair<int, std::thread::id>, void*> default_streams;
  std::map<void*, std::unique_ptr<FakeEvent>> events;
  std::map<const std::byte*, Allocation> memory;

  static Machine& get() {
    static Machine& machine = *new Machine;  // never destroyed: queues may be static objects
    return machine;
  }

  FakeGpu& gpu(int device) {
    FakeGpu& found = gpus.at(static_cast<std::size_t>(device));
    if (found.is_lost) {
      throw lost(device);
    }
    return found;
  }

  template <class T>
  static T& find(const std::map<void*, std::unique_ptr<T>>& all, void* handle, int device) {
    const auto found = all.find(handle);
    if (found == all.end() || found->second->is_destroyed) {
      throw DeviceError("no such stream or event on cuda:" + std::to_string(device) +
                        "; it was destroyed");
    }
    return *found->second;
  }

  /// A default stream (null, 1, 2) is another one on each device, and that of the handle 2 in each thread.
  void* resolve(int device, void* handle) {
    const auto number = reinterpret_cast<std::uintptr_t>(handle);
    if (number > 2) return handle;
    const auto thread = number == 2 ? std::this_thread::get_id() : std::thread::id();
    void*& found = default_streams[{device, thread}];  // null and 1 are the same
    if (found == nullptr) {
      auto stream = std::make_unique<FakeStream>();
      stream->device = device;
      stream->is_default = true;
      found = stream.get();
      streams[found] = std::move(stream);
    }
    return found;
  }

  FakeStream& stream(int device, void* handle) {
    gpu(device);
    handle = resolve(device, handle);
    FakeStream& found = find(streams, handle, device);
    if (found.device != device) {
      throw DeviceError("a stream of cuda:" + std::to_string(found.device) +
                        " on cuda:" + std::to_string(device));
    }
    return found;
  }

  FakeEvent& event(int device, void* handle) {
    gpu(device);
    return find(events, handle, device);
  }

  /// The allocation that `data` points into; the end for memory of the host.
  std::map<const std::byte*, Allocation>::const_iterator memory_with(const void* data) const {
    const auto* const place = static_cast<const std::byte*>(data);
    auto next = memory.upper_bound(place);
    if (next == memory.begin()) return memory.end();
    --next;
    return place < next->first + next->second.bytes ? next : memory.end();
  }

  /// @throws DeviceError unless [data, data + bytes) is host memory or lies on `device`.
  void require_reachable(int device, const void* data, std::size_t bytes) {
    const auto* const begin = static_cast<const std::byte*>(data);
    const auto found = memory_with(data);
    if (found == memory.end()) return;
    const auto& [start, allocation] = *found;
    if (allocation.device != device || begin + bytes > start + allocation.bytes) {
      throw DeviceError("illegal address: " + std::to_string(bytes) +
                        " bytes in memory of cuda:" + std::to_string(allocation.device) +
                        ", used by cuda:" + std::to_string(device));
    }
  }

  void enqueue(FakeStream& stream, Work work) {
    stream.pending.push_back(std::move(work));
    drain();
  }

  /// Does all work that can be done.
  void drain() {
    for (bool did_some = true; did_some;) {
      did_some = false;
      for (auto& [handle, stream] : streams) {
        const FakeGpu& gpu = gpus[static_cast<std::size_t>(stream->device)];
        auto& pending = stream->pending;
        while (!pending.empty() && !gpu.is_held && !gpu.is_lost &&
               pending.front().end <= Clock::now() &&
               (pending.front().after == nullptr || pending.front().after->is_reached)) {
          if (pending.front().call) {
            pending.front().call(nullptr);
          } else {
            pending.front().run();
          }
          pending.pop_front();
          did_some = true;
        }
      }
    }
    std::erase_if(streams, [](const auto& each) {
      return each.second->is_destroyed && each.second->pending.empty();
    });
    progress.notify_all();
  }

  /// A thread that ends work by the clock, as that of a driver.
  void need_clock() {
    timed.notify_one();
    if (std::exchange(has_clock, true)) return;
    std::thread([this] {
      std::unique_lock lock(mutex);
      while (true) {
        Clock::time_point next = Clock::time_point::max();
        for (const auto& [handle, stream] : streams) {
          if (!stream->pending.empty() && stream->pending.front().end != Clock::time_point()) {
            next = std::min(next, stream->pending.front().end);
          }
        }
        if (next == Clock::time_point::max()) {
          timed.wait(lock);
        } else {
          timed.wait_until(lock, next);
        }
        drain();
      }
    }).detach();
  }

  bool is_idle(int device) const {
    return std::ranges::all_of(streams, [&](const auto& each) {
      return each.second->device != device || each.second->pending.empty();
    });
  }

  void release(int device, void* data) {
    const auto found = memory.find(static_cast<const std::byte*>(data));
    if (found == memory.end()) return;
    gpus[static_cast<std::size_t>(device)].used -= found->second.bytes;
    memory.erase(found);
    ::operator delete(data, std::align_val_t{kAlignment});
  }

  /// Waits until `is_done`, or the device is lost.
  template <class Done>
  void wait(std::unique_lock<std::mutex>& lock, int device, const Done& is_done) {
    progress.wait(lock,
                  [&] { return gpus[static_cast<std::size_t>(device)].is_lost || is_done(); });
    gpu(device);
  }
};

thread_local int current_device = 0;

/// A call of the runtime.
class Call {
 public:
  using Times = test::DeviceDouble::Times;

  explicit Call(int device, std::chrono::nanoseconds Times::*kind = &Times::call, int calls = 1) {
    detail::driver_entered(device);
    Machine& machine = Machine::get();
    Clock::time_point end;
    {
      const std::lock_guard lock(machine.mutex);
      const Times& times = machine.times;
      if (times.call.count() == 0) return;
      Driver& driver = machine.drivers.at(static_cast<std::size_t>(device));
      const bool is_first = !std::exchange(driver.has_context, true);
      const auto time = calls * times.*kind + (is_first ? times.context : times.context * 0);
      end = driver.free_at = std::max(Clock::now(), driver.free_at) + time;
    }
    // A sleep takes longer than a short call.
    constexpr std::chrono::microseconds kShortest{200};
    if (end - Clock::now() > kShortest) std::this_thread::sleep_until(end);
  }
  ~Call() { detail::driver_left(); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
};

}  // namespace

namespace test {

void DeviceDouble::reset(int gpus, std::size_t bytes) {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  machine.gpus.assign(static_cast<std::size_t>(gpus), FakeGpu());
  machine.capacity = bytes;
  machine.is_host_full = false;
  machine.times = {};
  machine.drivers.assign(static_cast<std::size_t>(gpus), Driver());
  machine.streams.clear();
  machine.default_streams.clear();
  machine.events.clear();
  for (const auto& [data, allocation] : machine.memory) {
    ::operator delete(const_cast<std::byte*>(data), std::align_val_t{kAlignment});
  }
  machine.memory.clear();
}

void DeviceDouble::take_time(const Times& times) {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  machine.times = times;
}

void DeviceDouble::take_host_memory() {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  machine.is_host_full = true;
}

void DeviceDouble::hold(int device) {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  machine.gpus.at(static_cast<std::size_t>(device)).is_held = true;
}

void DeviceDouble::let_go(int device) {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  machine.gpus.at(static_cast<std::size_t>(device)).is_held = false;
  machine.drain();
}

void DeviceDouble::lose(int device) {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  machine.gpus.at(static_cast<std::size_t>(device)).is_lost = true;
  for (auto& [handle, stream] : machine.streams) {
    if (stream->device != device) continue;
    for (const Work& work : std::exchange(stream->pending, {})) {
      if (work.call) work.call(std::make_exception_ptr(lost(device)));
    }
  }
  machine.drain();
}

void DeviceDouble::destroy_stream(void* stream) {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  const auto found = machine.streams.find(stream);
  if (found != machine.streams.end()) found->second->is_destroyed = true;
  machine.drain();
}

std::size_t DeviceDouble::used(int device) {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  return machine.gpus.at(static_cast<std::size_t>(device)).used;
}

std::size_t DeviceDouble::kernels() {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  return machine.kernels;
}

std::size_t DeviceDouble::streams() {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  return static_cast<std::size_t>(std::ranges::count_if(
      machine.streams, [](const auto& each) { return !each.second->is_default; }));
}

int DeviceDouble::current() { return current_device; }

}  // namespace test

namespace detail {

int gpu_count() noexcept {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  return static_cast<int>(machine.gpus.size());
}

std::string gpu_problem() { return ""; }

std::string gpu_name(int device) { return "simulated GPU " + std::to_string(device); }

DeviceMemory gpu_memory(int device) {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  return {machine.capacity, machine.capacity - machine.gpu(device).used};
}

int gpu_device_of(const void* data) {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  const auto found = machine.memory_with(data);
  return found == machine.memory.end() ? -1 : found->second.device;
}

void gpu_wait(int device) {
  Machine& machine = Machine::get();
  std::unique_lock lock(machine.mutex);
  machine.wait(lock, device, [&] { return machine.is_idle(device); });
}

int gpu_enter(int device) {
  driver_entered(device);
  return std::exchange(current_device, device);
}
void gpu_leave(int before) noexcept {
  current_device = before;
  driver_left();
}

void* gpu_stream_create(int device) {
  const Call in_driver(device);
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  machine.gpu(device);
  auto stream = std::make_unique<FakeStream>();
  stream->device = device;
  void* const handle = stream.get();
  machine.streams[handle] = std::move(stream);
  return handle;
}

void gpu_stream_destroy(int, void* stream) noexcept { test::DeviceDouble::destroy_stream(stream); }

void gpu_stream_wait(int device, void* stream) {
  const Call in_driver(device);
  Machine& machine = Machine::get();
  std::unique_lock lock(machine.mutex);
  const FakeStream& found = machine.stream(device, stream);
  machine.wait(lock, device, [&] { return found.pending.empty(); });
}

void gpu_stream_when_done(int device, void* stream, std::function<void(std::exception_ptr)> call) {
  const Call in_driver(device);
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  if (machine.is_host_full) throw std::bad_alloc();
  machine.enqueue(machine.stream(device, stream), {nullptr, {}, std::move(call)});
}

int gpu_stream_device(int device, void* stream) {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  return Machine::find(machine.streams, machine.resolve(device, stream), device).device;
}

void* gpu_event_create(int device) {
  const Call in_driver(device);
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  machine.gpu(device);
  auto event = std::make_unique<FakeEvent>();
  event->device = device;
  void* const handle = event.get();
  machine.events[handle] = std::move(event);
  return handle;
}

void gpu_event_destroy(int, void* event) noexcept {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  machine.events.erase(event);
}

void gpu_event_record(int device, void* event, void* stream) {
  const Call in_driver(device);
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  FakeEvent& found = machine.event(device, event);
  found.recorded = std::make_shared<Point>();
  machine.enqueue(machine.stream(device, stream),
                  {nullptr, [point = found.recorded] { point->is_reached = true; }});
}

bool gpu_event_is_reached(int device, void* event) {
  const Call in_driver(device, &Call::Times::query);
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  return machine.event(device, event).recorded->is_reached;
}

void gpu_event_wait(int device, void* event) {
  const Call in_driver(device);
  Machine& machine = Machine::get();
  std::unique_lock lock(machine.mutex);
  const std::shared_ptr<Point> point = machine.event(device, event).recorded;
  machine.wait(lock, device, [&] { return point->is_reached; });
}

void gpu_stream_wait_event(int device, void* stream, void* event) {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  FakeStream& found = machine.stream(device, stream);
  FakeEvent& waited = Machine::find(machine.events, event, device);
  machine.gpu(waited.device);
  machine.enqueue(found, {waited.recorded, [] {}});
}

void* gpu_allocate(int device, std::size_t bytes) {
  const Call in_driver(device);
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  FakeGpu& gpu = machine.gpu(device);
  if (bytes > machine.capacity - gpu.used) {
    throw DeviceFullError("allocating " + std::to_string(bytes) +
                          " bytes on cuda:" + std::to_string(device) + ": the device is full, " +
                          std::to_string(machine.capacity - gpu.used) + " bytes are free");
  }
  auto* const data = static_cast<std::byte*>(::operator new(bytes, std::align_val_t{kAlignment}));
  machine.memory[data] = {device, bytes};
  gpu.used += bytes;
  return data;
}

void gpu_free(int device, void* data) noexcept {
  Machine& machine = Machine::get();
  std::unique_lock lock(machine.mutex);
  machine.progress.wait(lock, [&] { return machine.is_idle(device); });
  machine.release(device, data);
}

void* gpu_allocate_in_order(int device, void* stream, std::size_t bytes) {
  gpu_stream_device(device, stream);
  return gpu_allocate(device, bytes);
}

void gpu_free_in_order(int device, void* stream, void* data) noexcept {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  const auto release = [&machine, device, data] { machine.release(device, data); };
  try {
    machine.enqueue(machine.stream(device, stream), {nullptr, release});
  } catch (const DeviceError&) {
    release();
  }
}

// Here all processes are one: a handle is the address.
MemoryHandle gpu_export(int device, void* data) {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  machine.gpu(device);
  machine.require_reachable(device, data, 1);
  MemoryHandle handle{};
  std::memcpy(handle.data(), &data, sizeof(data));
  return handle;
}

void* gpu_import(int device, const MemoryHandle& handle) {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  machine.gpu(device);
  void* data = nullptr;
  std::memcpy(&data, handle.data(), sizeof(data));
  if (!machine.memory.contains(static_cast<const std::byte*>(data))) {
    throw DeviceError("opening memory of another process on cuda:" + std::to_string(device) +
                      ": no such memory");
  }
  return data;
}

void gpu_import_end(int, void*) noexcept {}

void* gpu_allocate_pinned(int, std::size_t bytes) {
  return ::operator new(bytes, std::align_val_t{kAlignment});
}

void gpu_free_pinned(int, void* data) noexcept {
  ::operator delete(data, std::align_val_t{kAlignment});
}

void gpu_copy(int device, void* stream, void* to, const void* from, std::size_t bytes) {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  FakeStream& found = machine.stream(device, stream);
  machine.require_reachable(device, to, bytes);
  machine.require_reachable(device, from, bytes);
  machine.enqueue(found, {nullptr, [=] { std::memmove(to, from, bytes); }});
}

void gpu_copy_2d(int device, void* stream, void* to, std::size_t to_pitch, const void* from,
                 std::size_t from_pitch, std::size_t width, std::size_t height) {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  FakeStream& found = machine.stream(device, stream);
  if (to_pitch < width || from_pitch < width) throw DeviceError("a pitch below the width");
  machine.require_reachable(device, to, (height - 1) * to_pitch + width);
  machine.require_reachable(device, from, (height - 1) * from_pitch + width);
  machine.enqueue(found, {nullptr, [=] {
                            for (std::size_t row = 0; row < height; ++row) {
                              std::memmove(static_cast<std::byte*>(to) + row * to_pitch,
                                           static_cast<const std::byte*>(from) + row * from_pitch,
                                           width);
                            }
                          }});
}

void gpu_zero(int device, void* stream, void* data, std::size_t bytes) {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  FakeStream& found = machine.stream(device, stream);
  machine.require_reachable(device, data, bytes);
  machine.enqueue(found, {nullptr, [=] { std::memset(data, 0, bytes); }});
}

}  // namespace detail

void test::DeviceDouble::enqueue(int device, void* stream, std::chrono::nanoseconds duration,
                                 int calls) {
  const Call in_driver(device, &Call::Times::call, calls);
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  FakeStream& found = machine.stream(device, stream);
  auto& free_at = machine.gpu(device).free_at;
  Clock::time_point& free = *std::ranges::min_element(free_at);
  const Clock::time_point before =
      found.pending.empty() ? Clock::time_point() : found.pending.back().end;
  free = std::max({Clock::now(), free, before}) + duration;
  found.pending.push_back({.after = nullptr, .run = [] {}, .call = {}, .end = free});
  ++machine.kernels;
  machine.need_clock();
}

void test::DeviceDouble::enqueue(int device, void* stream, const std::vector<const void*>& memory,
                                 std::function<void()> work) {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mutex);
  FakeStream& found = machine.stream(device, stream);
  for (const void* const used : memory) machine.require_reachable(device, used, 1);
  machine.enqueue(found, {nullptr, std::move(work)});
  ++machine.kernels;
}

}  // namespace tensoa
