// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "module_run.hpp"

#include <tbb/task_arena.h>

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "tensoa/core/error.hpp"
#include "tensoa/core/profiler_range.hpp"
#include "tensoa/sched/event_pipeline.hpp"

namespace tensoa::sched::detail {
namespace {

bool is_lost_device(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const DeviceLostError&) {
    return true;
  } catch (...) {
    return false;
  }
}

std::vector<Object> make_data(const Declared& declared, const Queue& queue) {
  std::vector<Object> data;
  data.reserve(declared.data.size());
  for (const auto& datum : declared.data) data.push_back(datum.make(queue));
  return data;
}

std::vector<std::size_t> rooms_of(const RunOptions& options, std::size_t in_flight) {
  std::vector<Device> seen;
  for (const Device device : options.devices) {
    if (std::ranges::find(seen, device) != seen.end()) {
      throw ConfigError("ModuleGraph: " + to_string(device) +
                        " is named twice, expected different devices");
    }
    seen.push_back(device);
  }
  if (seen.empty()) throw ConfigError("ModuleGraph: got no device, expected at least one");
  return std::vector<std::size_t>(seen.size(), in_flight);
}

}  // namespace

ModuleRun::Slot::Slot(std::size_t its_index, const Queue& its_queue, std::size_t its_device,
                      const Declared& declared)
    : EventSlot(its_index, its_queue),
      device(its_device),
      waits_for(std::make_unique<std::atomic<std::size_t>[]>(declared.modules.size())) {
  for (const ModuleNode& module : declared.modules) steps.push_back({this, &module, {}});
}

ModuleRun::ModuleRun(const Declared& declared, const RunOptions& options)
    : ArenaScheduler(options.waiting),
      declared_(declared),
      options_(options),
      in_flight_(events_in_flight(options.in_flight)),
      placement_(rooms_of(options, in_flight_)),
      free_(options.devices.size()) {
  after_failure_.name = "on_failure";
  after_failure_.reads = declared.source.writes;
  for (const SinkNode& sink : declared.sinks) {
    lanes_.push_back(std::make_unique<SinkLane<Slot>>(
        sink.order, [this, &sink](Slot& slot) { give(sink, slot); }));
  }
  for (std::size_t device = 0; device < options.devices.size(); ++device) {
    totals_.devices.push_back({options.devices[device], 0, false});
    for (std::size_t place = 0; place < in_flight_; ++place) {
      slots_.push_back(
          std::make_unique<Slot>(slots_.size(), Queue(options.devices[device]), device, declared_));
    }
    // The lowest is taken first.
    for (std::size_t place = 0; place < in_flight_; ++place) {
      free_[device].push_back(slots_[slots_.size() - 1 - place].get());
    }
  }
}

RunTotals ModuleRun::run() {
  request_events();
  run_tasks();
  run_failure_.rethrow();
  return totals_;
}

/// Not in the calling thread: it may be giving events to a sink.
void ModuleRun::request_events() {
  if (requests_.fetch_add(1) == 0) spawn([this] { take_events(); });
}

void ModuleRun::take_events() {
  std::size_t seen = 0;
  do {
    seen = requests_.load();
    while (take_event()) {
    }
    bool is_over = false;
    {
      const std::lock_guard lock(mutex_);
      is_over = is_at_end_ && under_way_ == 0;
    }
    if (is_over) return finish();  // no event is left that could ask for more
  } while (requests_.fetch_sub(seen) != seen);
}

ModuleRun::Slot* ModuleRun::free_slot() {
  const auto device = placement_.take();
  if (!device) return nullptr;
  Slot* const slot = free_[*device].back();
  free_[*device].pop_back();
  return slot;
}

/// @return whether there may be more
bool ModuleRun::take_event() {
  if (is_at_end_) return false;
  if (options_.stop.stop_requested() || wants_no_more_.load()) {
    is_at_end_ = true;
    const std::lock_guard lock(mutex_);
    totals_.is_stopped = true;
    return false;
  }
  if (run_failure_.is_there()) {
    is_at_end_ = true;
    return false;
  }
  Slot* slot = nullptr;
  {
    const std::lock_guard lock(mutex_);
    slot = free_slot();
    if (slot == nullptr && placement_.is_any_left()) return false;
    if (slot != nullptr) ++under_way_;
  }
  if (slot == nullptr) {
    is_at_end_ = true;
    run_failure_.keep(std::make_exception_ptr(DeviceLostError(
        "ModuleGraph: no device is left after event " + std::to_string(next_number_) +
        " of the source; the events after it were not taken")));
    return false;
  }
  slot->number = next_number_;
  try {
    if (slot->data.empty()) {
      const std::lock_guard lock(make_mutex_);
      slot->data = make_data(declared_, slot->queue);
    }
    slot->begin = Clock::now();
    is_at_end_ = !declared_.next_event(EventView(*slot, declared_.source));
  } catch (...) {
    run_failure_.keep(std::current_exception());
    is_at_end_ = true;
  }
  if (is_at_end_) {
    const std::lock_guard lock(mutex_);
    placement_.give_back(slot->device, std::nullopt);
    free_[slot->device].push_back(slot);
    --under_way_;
    return false;
  }
  ++next_number_;
  begin_event(*slot);
  return true;
}

void ModuleRun::begin_event(Slot& slot) {
  slot.is_failed.store(false);
  slot.failure.reset();
  slot.modules_left.store(declared_.modules.size());
  for (std::size_t module = 0; module < declared_.modules.size(); ++module) {
    slot.waits_for[module].store(declared_.modules[module].waits_for);
  }
  if (declared_.modules.empty()) return end_event(slot);
  for (Step& step : slot.steps) {
    if (step.module->waits_for == 0) spawn([this, &step] { begin_module(step); });
  }
}

void ModuleRun::begin_module(Step& step) {
  if (step.slot->is_failed.load()) return end_module(step, nullptr);
  const EventView event(*step.slot, *step.module);
  const Clock::time_point begin = options_.trace != nullptr ? Clock::now() : Clock::time_point();
  step.begin = begin;
  const std::size_t number = step.slot->number;
  if (step.module->task) {
    // The event may be over before start() returns.
    const ModuleNode& module = *step.module;
    tbb::this_task_arena::isolate([&] {
      const ProfilerRange range(module.name.c_str());
      try {
        module.task(event).start(
            *this, [this, &step](const std::exception_ptr& failure) { end_module(step, failure); },
            &step);
      } catch (...) {  // no memory for the task
        end_module(step, std::current_exception());
      }
    });
    if (options_.trace != nullptr) options_.trace->add_part(module.name, number, begin);
    return;
  }
  std::exception_ptr failure;
  try {
    // A thread that waits for parallel work of the module takes no other module on top.
    tbb::this_task_arena::isolate([&] {
      const ProfilerRange range(step.module->name.c_str());
      step.module->call(event);
    });
  } catch (...) {
    failure = std::current_exception();
  }
  if (options_.trace != nullptr) options_.trace->add_part(step.module->name, number, begin);
  end_module(step, failure);
}

void ModuleRun::call(Continuation task) {
  // The event may be over when the task returns.
  const Step& step = *static_cast<const Step*>(task.owner());
  const ModuleNode& module = *step.module;
  const std::size_t number = step.slot->number;
  const Clock::time_point begin = options_.trace != nullptr ? Clock::now() : Clock::time_point();
  tbb::this_task_arena::isolate([&] {
    const ProfilerRange range(module.name.c_str());
    task();
  });
  if (options_.trace != nullptr) options_.trace->add_part(module.name, number, begin);
}

void ModuleRun::end_module(Step& step, const std::exception_ptr& failure) noexcept {
  Slot& slot = *step.slot;
  if (failure) fail_event(slot, step.module->name, failure);
  if (options_.trace != nullptr && step.begin != Clock::time_point()) {
    options_.trace->add_module(step.module->name, slot.number, slot.index, step.begin);
    step.begin = {};
  }
  for (const std::size_t next : step.module->next) {
    if (slot.waits_for[next].fetch_sub(1) == 1) {
      spawn([this, &next_step = slot.steps[next]] { begin_module(next_step); });
    }
  }
  if (slot.modules_left.fetch_sub(1) == 1) end_event(slot);
}

void ModuleRun::end_event(Slot& slot) noexcept {
  if (slot.is_failed.load() && lost_its_device(slot) && moves(slot)) return begin_event(slot);
  slot.latency = Clock::now() - slot.begin;
  if (options_.trace != nullptr) options_.trace->add_memory(slot.queue.device());
  deliver(slot);
}

bool ModuleRun::lost_its_device(const Slot& slot) const {
  return !slot.queue.device().is_cpu() && is_lost_device(slot.failure->error);
}

/// To another device with all that the slot is, so that the event runs there now: a slot that is
/// free may never come, where all of them wait for their turn after this event.
bool ModuleRun::moves(Slot& slot) noexcept {
  std::size_t to = 0;
  {
    const std::lock_guard lock(mutex_);
    placement_.lose(slot.device);
    totals_.devices[slot.device].is_lost = true;
    const auto device = placement_.move(slot.device);
    if (!device) return false;
    to = *device;
    ++totals_.rerun;
  }
  const Device device = options_.devices[to];
  slot.device = to;
  try {
    const std::lock_guard lock(make_mutex_);
    const Queue queue(device);
    std::vector<Object> data = make_data(declared_, queue);
    for (const std::size_t datum : declared_.source.writes)
      std::swap(data[datum], slot.data[datum]);
    slot.data = std::move(data);
    slot.queue = queue;
    return true;
  } catch (const std::exception& error) {
    slot.failure->message += "; it could not run on " + to_string(device) + ": " + error.what();
    return false;
  }
}

void ModuleRun::deliver(Slot& slot) {
  if (lanes_.empty()) return release(slot, true);
  slot.sinks_left.store(lanes_.size());
  for (const auto& lane : lanes_) lane->add(slot);
}

void ModuleRun::give(const SinkNode& sink, Slot& slot) noexcept {
  if (has_sinks_.load()) {
    try {
      if (!slot.is_failed.load()) {
        sink.call(EventView(slot, sink));
      } else if (sink.on_failure) {
        sink.on_failure(EventView(slot, after_failure_), *slot.failure);
      }
    } catch (...) {
      has_sinks_.store(false);
      run_failure_.keep(std::current_exception());
    }
  }
  if (slot.sinks_left.fetch_sub(1) == 1) release(slot, has_sinks_.load());
}

void ModuleRun::release(Slot& slot, bool is_delivered) {
  {
    const std::lock_guard lock(mutex_);
    const bool is_failed = slot.is_failed.load();
    placement_.give_back(slot.device, slot.latency);
    free_[slot.device].push_back(&slot);
    --under_way_;
    ++totals_.devices[slot.device].events;
    if (is_failed) ++totals_.failed;
    if (!is_failed && is_delivered) ++totals_.delivered;
    totals_.latency.add(slot.latency);
  }
  request_events();
}

/// The first failure is the event's. What is no error of one event ends the run.
void ModuleRun::fail_event(Slot& slot, const std::string& module,
                           const std::exception_ptr& error) noexcept {
  EventFailure failure{slot.number, module, error, {}};
  try {
    std::rethrow_exception(error);
  } catch (const Error& thrown) {
    failure.message = thrown.what();
  } catch (const std::bad_alloc&) {
    const DeviceFullError full = no_memory_for_event();
    failure.message = full.what();
    failure.error = std::make_exception_ptr(full);
  } catch (const std::exception& thrown) {
    failure.message = thrown.what();
    run_failure_.keep(error);
  } catch (...) {
    failure.message = "an exception of an unknown type";
    run_failure_.keep(error);
  }
  const std::lock_guard lock(slot.mutex);
  if (slot.is_failed.load()) return;
  slot.failure = std::move(failure);
  slot.is_failed.store(true);
  if (options_.stops_at_failure && !is_lost_device(slot.failure->error)) wants_no_more_.store(true);
}

}  // namespace tensoa::sched::detail
