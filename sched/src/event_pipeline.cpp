// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/sched/event_pipeline.hpp"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <vector>

#include "tensoa/sched/module_graph.hpp"

namespace tensoa::sched::detail {
namespace {

/// The slots that `work` gets, by number.
class Slots {
 public:
  explicit Slots(std::size_t count) : is_taken_(count) {}

  /// The lowest that is free; there must be one.
  std::size_t take() {
    const std::lock_guard lock(mutex_);
    const auto free = std::ranges::find(is_taken_, false);
    *free = true;
    return static_cast<std::size_t>(free - is_taken_.begin());
  }

  void give_back(std::size_t slot) {
    const std::lock_guard lock(mutex_);
    is_taken_[slot] = false;
  }

 private:
  std::mutex mutex_;
  std::vector<bool> is_taken_;
};

/// A slot for the time of one event.
class SlotInUse {
 public:
  explicit SlotInUse(Slots& slots) : slots_(slots), slot_(slots.take()) {}
  ~SlotInUse() { slots_.give_back(slot_); }
  SlotInUse(const SlotInUse&) = delete;
  SlotInUse& operator=(const SlotInUse&) = delete;

  std::size_t number() const noexcept { return slot_; }

 private:
  Slots& slots_;
  std::size_t slot_;
};

}  // namespace

bool run_stages(const EventStages& stages, std::size_t in_flight, const EventOptions& options) {
  Slots slots(in_flight);
  ModuleGraph graph;
  graph.source({}, [&](EventView event) { return stages.take(event.slot()); });
  graph.module("work", {}, {}, [&](EventView event) {
    // The graph's slot is taken until the event is delivered, this one only while it is worked on.
    const SlotInUse slot(slots);
    stages.work(event.slot(), slot.number());
  });
  const auto deliver = [&](EventView event) { stages.deliver(event.slot()); };
  graph.sink("sink", {}, options.order, deliver,
             [&](EventView event, const EventFailure&) { deliver(event); });
  return graph.run({.in_flight = in_flight, .stop = options.stop}).is_stopped;
}

}  // namespace tensoa::sched::detail
