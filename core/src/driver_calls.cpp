// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/driver_calls.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <utility>

#include "driver_calls.hpp"

namespace tensoa {
namespace {

using Clock = std::chrono::steady_clock;

struct alignas(64) Counters {
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::int64_t> nanoseconds{0};
  std::atomic<std::uint64_t> switches{0};
};

struct OfThread {
  int depth = 0;
  int device = 0;  ///< of the outermost call
  int last = -1;   ///< device of the call before
  bool is_counted = false;
  Clock::time_point begin;
};

std::atomic<bool> is_on{false};
std::array<Counters, kMaxDevices> counters;
thread_local OfThread of_this_thread;

}  // namespace

namespace detail {

void driver_entered(int device) noexcept {
  if (of_this_thread.depth++ > 0) return;
  of_this_thread.is_counted = is_on.load(std::memory_order_relaxed);
  if (!of_this_thread.is_counted) return;
  of_this_thread.device = device;
  of_this_thread.begin = Clock::now();
}

void driver_left() noexcept {
  if (--of_this_thread.depth > 0 || !of_this_thread.is_counted) return;
  const std::chrono::nanoseconds time = Clock::now() - of_this_thread.begin;
  Counters& of = counters[static_cast<std::size_t>(of_this_thread.device)];
  of.calls.fetch_add(1, std::memory_order_relaxed);
  of.nanoseconds.fetch_add(time.count(), std::memory_order_relaxed);
  const int last = std::exchange(of_this_thread.last, of_this_thread.device);
  if (last != -1 && last != of_this_thread.device)
    of.switches.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace detail

void count_driver_calls(bool is_counting) noexcept { is_on.store(is_counting); }

DriverCalls driver_calls(Device device) {
  require_available(device);
  if (device.is_cpu()) return {};
  const Counters& of = counters[static_cast<std::size_t>(device.index)];
  return {.calls = of.calls.load(),
          .seconds = 1e-9 * static_cast<double>(of.nanoseconds.load()),
          .switches = of.switches.load()};
}

}  // namespace tensoa
