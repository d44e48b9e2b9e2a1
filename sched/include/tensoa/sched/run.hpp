// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <stop_token>
#include <string>
#include <vector>

#include "tensoa/core/device.hpp"
#include "tensoa/core/latency.hpp"

/// @file
/// Options and results of a run of a module graph.

namespace tensoa::sched {

/// An event that failed.
struct EventFailure {
  std::size_t number = 0;    ///< as EventView::number()
  std::string module;        ///< the first that failed
  std::exception_ptr error;  ///< a tensoa::Error
  std::string message;       ///< its text
};

/// Options of ModuleGraph::run().
struct RunOptions {
  /// Where events run: on the device with the most of its places free, so that each gets events as fast as it ends
  /// them. One on which an event would end after the others have done all that they may begin meanwhile gets none;
  /// the CPU next to GPUs gets one when a thread is idle. So a slower device does not lower the throughput.
  std::vector<Device> devices = {Device::cpu()};
  /// Event N runs on device N modulo the number of devices, whatever their speed, unless that is lost: for programs
  /// that differ in the last place. The slowest device then sets the pace.
  bool is_placed_by_number = false;
  /// Events in flight on each device: each has a queue and an object of every datum. 0: two for
  /// each thread of the arena.
  std::size_t in_flight = 0;
  /// Events whose modules have ended and that wait for their turn in a sink, in addition to those in flight: they
  /// leave their queue and their objects to the next event, and take with them what sinks read and the source
  /// wrote, which must be data without a `make`. For sinks in the order of the source, where one slow event
  /// would otherwise stop all devices. 0: none.
  std::size_t ended = 0;
  /// Once a stop is requested, from any thread, no event is taken any more. Those in flight are
  /// finished.
  std::stop_token stop = {};
  /// The first event that fails requests that stop, too.
  bool stops_at_failure = false;
  /// How modules wait for queues; nullptr: wait_by_polling(). Must live until run() returns.
  class Waiting* waiting = nullptr;
  /// Records what ran when and where; nullptr: nothing is recorded. Must live until run() returns.
  class Trace* trace = nullptr;
};

/// What ModuleGraph::run() has done.
struct RunTotals {
  struct OfDevice {
    Device device = Device::cpu();
    std::size_t events = 0;    ///< finished there
    bool is_lost = false;      ///< taken out during the run; its events ran again elsewhere
    std::size_t places = 0;    ///< for events in flight that were made there
    double ready_seconds = 0;  ///< from the beginning of the run until the first of them was
  };
  std::size_t delivered = 0;  ///< events that the sinks got
  std::size_t failed = 0;     ///< events that ended in an error
  std::size_t rerun = 0;      ///< events that ran again on another device
  bool is_stopped = false;    ///< a stop was requested before the end of the source
  std::size_t thread_moves =
      0;  ///< parts of modules whose thread ran one for another device before
  std::size_t lock_waits =
      0;  ///< times that a thread waited for another one's look at the list of free places
  std::vector<OfDevice> devices;
  LatencyHistogram latency;  ///< of each event, from the source to the end of its modules
};

}  // namespace tensoa::sched
