// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "arena_scheduler.hpp"
#include "declared.hpp"
#include "first_failure.hpp"
#include "placement.hpp"
#include "sink_lane.hpp"
#include "tensoa/sched/trace.hpp"

namespace tensoa::sched::detail {

/// One run over the events of a source. The way of an event:
///
///   take_events()    a device is chosen, the source fills the data of a free slot   begin_module()
/// each module whose inputs are there; it may continue later (call())   end_module()     counts
/// down what waited for it   end_event()      after the last module: to the sinks, or again, on
/// another device, where this one was lost   deliver()        each sink, in its order   release()
/// the slot is free, the next event is taken
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

  struct Slot : EventSlot {
    Slot(std::size_t its_index, const Queue& its_queue, std::size_t its_device,
         const Declared& declared);

    std::size_t device;       ///< in RunOptions::devices
    std::vector<Step> steps;  ///< by module
    std::unique_ptr<std::atomic<std::size_t>[]>
        waits_for;  ///< by module: how many before it have not ended
    std::atomic<std::size_t> modules_left = 0;
    std::atomic<std::size_t> sinks_left = 0;
    std::atomic<bool> is_failed = false;
    std::mutex mutex;
    std::optional<EventFailure> failure;  ///< the first
    Clock::time_point begin;
    Clock::duration latency{};  ///< to the end of its modules
  };

  void request_events();
  void take_events();
  bool take_event();
  Slot* free_slot();
  void begin_event(Slot& slot);
  void begin_module(Step& step);
  void call(Continuation task) override;
  void end_module(Step& step, const std::exception_ptr& failure) noexcept;
  void end_event(Slot& slot) noexcept;
  bool lost_its_device(const Slot& slot) const;
  bool moves(Slot& slot) noexcept;
  void deliver(Slot& slot);
  void give(const SinkNode& sink, Slot& slot) noexcept;
  void release(Slot& slot, bool is_delivered);
  void fail_event(Slot& slot, const std::string& module, const std::exception_ptr& error) noexcept;

  const Declared& declared_;
  const RunOptions& options_;
  std::size_t in_flight_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<std::unique_ptr<SinkLane<Slot>>> lanes_;
  ModuleNode after_failure_;  ///< what `on_failure` may read: the data of the source

  std::atomic<std::size_t> requests_ = 0;  ///< to take events; one thread at a time does
  bool is_at_end_ = false;                 ///< of the source; its thread's
  std::size_t next_number_ = 0;            ///< as above

  std::mutex mutex_;  ///< of what follows
  Placement placement_;
  std::vector<std::vector<Slot*>> free_;  ///< by device
  std::deque<Slot*> reruns_;              ///< events that lost their device
  std::size_t under_way_ = 0;
  RunTotals totals_;
  std::mutex make_mutex_;  ///< of making data

  std::atomic<bool> has_sinks_ = true;       ///< until one throws
  std::atomic<bool> wants_no_more_ = false;  ///< an event failed, and that ends the run
  FirstFailure run_failure_;                 ///< ends the run; thrown after the events in flight
};

}  // namespace tensoa::sched::detail
