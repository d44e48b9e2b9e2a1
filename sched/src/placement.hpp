// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "tensoa/core/device.hpp"

namespace tensoa::sched::detail {

/// Chooses the device of each event. *Threads*: one at a time.
///
/// An event goes to the device with the most of its places free, so that devices get events as fast as they
/// end them. No event begins before each GPU has a place: else the first device that is ready would do all events of a short
/// run. What would lower the throughput of the others is limited:
///
/// - A device whose events take longer than the others need for all that they may begin meanwhile makes these wait for
///   their turn, and the run for its last event. It then gets half the events at a time, down to none, and for
///   each event that is fast enough one more. One that got none for long is tried again, each time after twice as long.
/// - The CPU next to other devices gets an event only while a thread is idle: its events hold threads that the others
///   need. It gets one while the others start, which says how long it takes, and the next ones when the others are known.
///
/// How fast the others are: an event's latency over the number of events that were under way there with it is the time
/// between two events (Little's law), as a moving average that forgets the first, which warmed the device up.
class Placement {
 public:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;

  struct Rules {
    std::size_t ended = 0;      ///< events that may wait for their turn without a place
    bool is_by_number = false;  ///< event N to device N modulo the number of devices
  };

  /// @param devices each once @param room events in flight on each
  Placement(const std::vector<Device>& devices, std::size_t room, const Rules& rules);
  Placement(const std::vector<Device>& devices, std::size_t room)
      : Placement(devices, room, Rules()) {}

  /// A place of the device is ready for events.
  void add_place(std::size_t device);

  /// Whether an event that finds no place would be taken if the device had one more.
  bool wants_place(std::size_t device) const;

  /// The device for an event, which is under way there from now on. Empty: it has to wait.
  /// @param has_idle_thread a thread has nothing to do
  std::optional<std::size_t> take(std::size_t number, bool has_idle_thread,
                                  Clock::time_point now = Clock::now());

  /// An event is no longer under way there. @param latency empty: it says nothing about the device
  void end(std::size_t device, std::optional<Seconds> latency,
           Clock::time_point now = Clock::now());

  /// Its place is free again: at the earliest when it has ended, later where it waits for its turn there.
  void give_back(std::size_t device) { --devices_[device].there; }

  /// The best device for an event whose device was lost, whose place it brings along. Empty: none
  /// is left.
  std::optional<std::size_t> move(std::size_t from);

  void lose(std::size_t device) { devices_[device].is_lost = true; }
  bool is_any_left() const;

 private:
  struct OfDevice {
    bool holds_threads = false;
    std::size_t room = 0;
    std::size_t places = 0;
    std::size_t there = 0;           ///< places that are taken
    std::size_t under_way = 0;       ///< events there that have not ended
    std::optional<double> cost;      ///< seconds
    std::size_t measured = 0;        ///< events behind it, since the last place was added
    std::optional<double> unjudged;  ///< latency of the last event, until the others are known
    Clock::time_point idle_since;
    std::size_t limit = 1;  ///< events there at a time
    int slow = 0;           ///< events in a row that took too long
    double patience = 0;    ///< seconds to the next try after there was none
    bool is_lost = false;

    double expected() const { return cost.value_or(0) * static_cast<double>(under_way + 1); }
    double load() const { return static_cast<double>(there) / static_cast<double>(room); }
  };

  bool is_known(const OfDevice& other, const OfDevice& device) const;
  void judge(OfDevice& device);
  bool is_only_one() const;
  std::size_t most(const OfDevice& device) const;
  std::optional<std::size_t> by_number(std::size_t number);

  std::vector<OfDevice> devices_;
  std::size_t first_ = 0;  ///< that is asked: of devices with equal loads another one each time
  Rules rules_;
};

}  // namespace tensoa::sched::detail
