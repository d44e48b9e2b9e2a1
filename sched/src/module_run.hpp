// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "arena_scheduler.hpp"
#include "counted_mutex.hpp"
#include "declared.hpp"
#include "first_failure.hpp"
#include "placement.hpp"
#include "sink_lane.hpp"
#include "tensoa/sched/trace.hpp"

namespace tensoa::sched::detail {

/// One run over the events of a source. The way of an event:
///
///   take_events()    a device is chosen, the source fills the data of a free slot there
///   begin_module()   each module whose inputs are there; it may continue later (call())
///   end_module()     counts down what waited for it
///   end_event()      after the last module: to the sinks, or again, on another device, where this one was lost
///   deliver()        each sink, in its order; the slot is free before, where the event may wait without it
///   release()        the event is over, the next one is taken
///
/// Slots are made one after another on each device, when an event finds none free (make_place()).
class ModuleRun final : public ArenaScheduler {
 public:
  ModuleRun(const Declared& declared, const RunOptions& options);

  RunTotals run();

 private:
  using Clock = std::chrono::steady_clock;
  struct Slot;

  /// A module of an event in flight: the owner of its task.
  struct Step {
    Slot* slot;
    const ModuleNode* module;
    Clock::time_point begin;  ///< for the trace
  };

  /// An event as sinks see it.
  struct EndedEvent : EventSlot {
    using EventSlot::EventSlot;

    std::optional<EventFailure> failure;  ///< the first
    Clock::duration latency{};            ///< to the end of its modules
    std::atomic<std::size_t> sinks_left = 0;
    Slot* slot = nullptr;  ///< that it has; none where it left it
  };

  struct Slot : EndedEvent {
    Slot(std::size_t its_index, const Queue& its_queue, std::size_t its_device,
         const Declared& declared);

    std::size_t device;       ///< in RunOptions::devices
    std::vector<Step> steps;  ///< by module
    std::unique_ptr<std::atomic<std::size_t>[]>
        waits_for;  ///< by module: how many before it have not ended
    std::atomic<std::size_t> modules_left = 0;
    std::atomic<bool> is_failed = false;
    std::mutex mutex;  ///< of the failure, while modules run
    Clock::time_point begin;
  };

  /// A device of the run.
  struct Place {
    std::vector<Slot*> free;
    std::size_t made = 0;        ///< slots
    bool is_making_one = false;  ///< one at a time
    std::mutex making;
  };

  void request_events();
  void take_events();
  Slot* take_event();
  Slot* free_slot();
  void require_places();
  void make_place(std::size_t device) noexcept;
  std::unique_ptr<Slot> new_slot(std::size_t device, std::size_t number);
  void begin_event(Slot& slot);
  void begin_module(Step& step);
  void call(Continuation task) override;
  void end_module(Step& step, const std::exception_ptr& failure) noexcept;
  void end_event(Slot& slot) noexcept;
  bool lost_its_device(const Slot& slot) const;
  bool moves(Slot& slot) noexcept;
  void deliver(Slot& slot);
  EndedEvent* leave(Slot& slot);
  void give_back(Slot& slot);
  void give(const SinkNode& sink, EndedEvent& event) noexcept;
  void release(EndedEvent& event, bool is_delivered);
  void enter(const Slot& slot);
  void fail_event(Slot& slot, const std::string& module, const std::exception_ptr& error) noexcept;

  const Declared& declared_;
  const RunOptions& options_;
  std::size_t in_flight_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<std::unique_ptr<SinkLane<EndedEvent>>> lanes_;
  ModuleNode after_failure_;  ///< what `on_failure` may read: the data of the source

  std::atomic<std::size_t> requests_ = 0;  ///< to take events; one thread at a time does
  bool is_at_end_ = false;                 ///< of the source; its thread's
  std::size_t next_number_ = 0;            ///< as above

  CountedMutex mutex_;  ///< of what follows
  Placement placement_;
  std::deque<Place> places_;  ///< by device
  std::size_t places_in_making_ = 0;
  double busy_threads_ = 0;  ///< moving average
  std::size_t under_way_ = 0;
  RunTotals totals_;
  std::vector<std::size_t> leaving_;  ///< data that an event takes with it when it leaves its slot
  std::vector<std::unique_ptr<EndedEvent>> ended_;
  std::vector<EndedEvent*> free_ended_;

  Clock::time_point begin_ = Clock::now();
  std::atomic<std::size_t> thread_moves_ = 0;
  std::atomic<bool> has_sinks_ = true;       ///< until one throws
  std::atomic<bool> wants_no_more_ = false;  ///< an event failed, and that ends the run
  FirstFailure run_failure_;                 ///< ends the run; thrown after the events in flight
};

}  // namespace tensoa::sched::detail
