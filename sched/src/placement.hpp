// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "tensoa/core/device.hpp"

namespace tensoa::sched::detail {

/// Chooses the device of each event: the one where it is expected to be done first. *Threads*: one
/// at a time.
///
/// A device's cost is the time between two of its events while it is busy: an event's latency over
/// the number of events that were there with it, as a moving average that forgets the first, which
/// warmed the device up. A new event is done there after the cost times the events before it and
/// itself. A device without a cost gets one event, unless it is the only one; one that was idle for long
/// is tried again, since its cost may be old.
class Placement {
 public:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;

  /// @param rooms events in flight for each device
  explicit Placement(const std::vector<std::size_t>& rooms);

  /// The device for the next event, which is there from now on. Empty: all are full or lost, or the
  /// best one is full and an event that waits for it is done sooner than on another.
  std::optional<std::size_t> take(Clock::time_point now = Clock::now());

  /// An event there has ended. @param latency empty: it says nothing about the device
  void give_back(std::size_t device, std::optional<Seconds> latency,
                 Clock::time_point now = Clock::now());

  /// The best device for an event whose device was lost, whose place it brings along. Empty: none
  /// is left.
  std::optional<std::size_t> move(std::size_t from);

  void lose(std::size_t device) { devices_[device].is_lost = true; }
  bool is_lost(std::size_t device) const { return devices_[device].is_lost; }
  bool is_any_left() const;

 private:
  struct OfDevice {
    std::size_t room = 0;
    std::size_t there = 0;
    std::optional<double> cost;  ///< seconds
    int measured = 0;            ///< events behind it, as far as it matters
    Clock::time_point idle_since;
    bool is_lost = false;
  };

  std::vector<OfDevice> devices_;
};

}  // namespace tensoa::sched::detail
