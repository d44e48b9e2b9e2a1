// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "tensoa/core/device.hpp"

namespace tensoa::sched {

/// What ran when, for RunOptions::trace: the modules on each thread, the modules of each event in
/// flight with their waits, and the memory that tensoa holds on each device. Recording needs two
/// readings of the clock and 40 bytes for each part of a module between waits. A record without memory
/// is dropped.
class Trace {
 public:
  Trace();
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  using Clock = std::chrono::steady_clock;

  /// A part of a module that held a thread. *Threads*: any.
  void add_part(const std::string& module, std::size_t event, Clock::time_point begin) noexcept;
  /// A module from its begin to its end, waits included, on the row of a slot. *Threads*: any.
  void add_module(const std::string& module, std::size_t event, std::size_t slot,
                  Clock::time_point begin) noexcept;
  /// What tensoa holds on a device now (memory_figures). *Threads*: any.
  void add_memory(Device device) noexcept;

  /// The trace in the JSON that https://ui.perfetto.dev and chrome://tracing open. After the run.
  /// *Lifetime*: the graph whose modules were recorded must live.
  std::string to_json() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tensoa::sched
