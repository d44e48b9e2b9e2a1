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
#include "tensoa/sched/impl/in_flight.hpp"

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

const std::vector<Device>& require_devices(const std::vector<Device>& devices) {
  for (auto device = devices.begin(); device != devices.end(); ++device) {
    if (std::find(devices.begin(), device, *device) != device) {
      throw ConfigError("ModuleGraph: " + to_string(*device) +
                        " is named twice, expected different devices");
    }
    require_available(*device);
  }
  if (devices.empty()) throw ConfigError("ModuleGraph: got no device, expected at least one");
  return devices;
}

/// What sinks may see of an event, which it takes with it. @throws ConfigError where that cannot leave its queue
std::vector<std::size_t> data_of_sinks(const Declared& declared) {
  std::vector<std::size_t> data = declared.source.writes;
  for (const SinkNode& sink : declared.sinks) {
    data.insert(data.end(), sink.reads.begin(), sink.reads.end());
  }
  std::ranges::sort(data);
  const auto same = std::ranges::unique(data);
  data.erase(same.begin(), same.end());
  for (const std::size_t datum : data) {
    if (!declared.data[datum].has_maker) continue;
    throw ConfigError(
        "ModuleGraph: events are to wait for sinks without their queue, and the datum \"" +
        declared.data[datum].name +
        "\" is made for a queue; let sinks read data without a `make`, or leave "
        "RunOptions::ended at 0");
  }
  return data;
}

const std::string kMakePlace = "make a place";  // in traces

}  // namespace

std::size_t events_in_flight(std::size_t requested) {
  if (requested > 0) return requested;
  return 2 * static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
}

DeviceFullError no_memory_for_event() {
  return DeviceFullError(
      "there is not enough memory for this event; fewer events in flight, or fewer threads, may "
      "help");
}

ModuleRun::Slot::Slot(std::size_t its_index, const Queue& its_queue, std::size_t its_device,
                      const Declared& declared)
    : EndedEvent(its_index, its_queue),
      device(its_device),
      waits_for(std::make_unique<std::atomic<std::size_t>[]>(declared.modules.size())) {
  slot = this;
  for (const ModuleNode& module : declared.modules) steps.push_back({this, &module, {}});
}

ModuleRun::ModuleRun(const Declared& declared, const RunOptions& options)
    : ArenaScheduler(options.waiting),
      declared_(declared),
      options_(options),
      in_flight_(events_in_flight(options.in_flight)),
      placement_(require_devices(options.devices), in_flight_,
                 {.ended = options.ended, .is_by_number = options.is_placed_by_number}),
      places_(options.devices.size()) {
  after_failure_.name = "on_failure";
  after_failure_.reads = declared.source.writes;
  if (options.ended > 0) leaving_ = data_of_sinks(declared);
  for (const SinkNode& sink : declared.sinks) {
    lanes_.push_back(std::make_unique<SinkLane<EndedEvent>>(
        sink.order, [this, &sink](EndedEvent& event) { give(sink, event); }));
  }
  for (const Device device : options.devices) totals_.devices.push_back({.device = device});
}

RunTotals ModuleRun::run() {
  request_events();
  run_tasks();
  run_failure_.rethrow();
  totals_.thread_moves = thread_moves_.load();
  totals_.lock_waits = mutex_.waits();
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
    if (Slot* const slot = take_event()) {
      // An idle thread takes the next event. This one works on its event first: with one thread, events would
      // otherwise begin in the reverse order, and the first one last.
      spawn([this] { take_events(); });
      return begin_event(*slot);
    }
    bool is_over = false;
    {
      const std::lock_guard lock(mutex_);
      is_over = is_at_end_ && under_way_ == 0 && places_in_making_ == 0;
    }
    if (is_over) return finish();  // no event is left whose end would request more
  } while (requests_.fetch_sub(seen) != seen);
}

ModuleRun::Slot* ModuleRun::free_slot() {
  constexpr double kWeight = 0.1;
  busy_threads_ += kWeight * (static_cast<double>(tasks()) - busy_threads_);
  const bool has_idle_thread = busy_threads_ + 1 <= tbb::this_task_arena::max_concurrency();
  const auto device = placement_.take(next_number_, has_idle_thread);
  if (!device) return nullptr;
  std::vector<Slot*>& free = places_[*device].free;
  Slot* const slot = free.back();
  free.pop_back();
  return slot;
}

/// One more on each device that would have one.
void ModuleRun::require_places() {
  for (std::size_t device = 0; device < places_.size(); ++device) {
    if (places_[device].is_making_one || !placement_.wants_place(device)) continue;
    places_[device].is_making_one = true;
    ++places_in_making_;
    spawn([this, device] { make_place(device); });
  }
}

std::unique_ptr<ModuleRun::Slot> ModuleRun::new_slot(std::size_t device, std::size_t number) {
  const std::lock_guard making(places_[device].making);
  auto slot = std::make_unique<Slot>(device * in_flight_ + number, Queue(options_.devices[device]),
                                     device, declared_);
  slot->data = make_data(declared_, slot->queue);
  return slot;
}

/// The first one of a device takes long: its context, its programs and its weights are made there.
void ModuleRun::make_place(std::size_t device) noexcept {
  const Clock::time_point begin = Clock::now();
  Place& place = places_[device];
  std::unique_ptr<Slot> slot;
  bool is_lost = false;
  try {
    slot = new_slot(device, place.made);
  } catch (...) {
    is_lost = is_lost_device(std::current_exception());
    if (!is_lost) run_failure_.keep(std::current_exception());
  }
  if (options_.trace != nullptr) {
    options_.trace->add_part(kMakePlace, device * in_flight_ + place.made, begin);
  }
  {
    const std::lock_guard lock(mutex_);
    RunTotals::OfDevice& totals = totals_.devices[device];
    place.is_making_one = false;
    --places_in_making_;
    if (is_lost) placement_.lose(device);
    totals.is_lost |= is_lost;
    if (slot) {
      if (place.made == 0) totals.ready_seconds = Placement::Seconds(Clock::now() - begin_).count();
      totals.places = ++place.made;
      placement_.add_place(device);
      place.free.push_back(slot.get());
      slots_.push_back(std::move(slot));
    }
  }
  request_events();
}

/// @return nullptr where no event can be taken now, or none is left
ModuleRun::Slot* ModuleRun::take_event() {
  if (is_at_end_) return nullptr;
  if (options_.stop.stop_requested() || wants_no_more_.load()) {
    is_at_end_ = true;
    const std::lock_guard lock(mutex_);
    totals_.is_stopped = true;
    return nullptr;
  }
  if (run_failure_.is_there()) {
    is_at_end_ = true;
    return nullptr;
  }
  Slot* slot = nullptr;
  {
    const std::lock_guard lock(mutex_);
    slot = free_slot();
    if (slot == nullptr && placement_.is_any_left()) {
      require_places();
      return nullptr;
    }
    if (slot != nullptr) ++under_way_;
  }
  if (slot == nullptr) {
    is_at_end_ = true;
    run_failure_.keep(std::make_exception_ptr(DeviceLostError(
        "ModuleGraph: no device is left after event " + std::to_string(next_number_) +
        " of the source; the events after it were not taken")));
    return nullptr;
  }
  slot->number = next_number_;
  try {
    slot->begin = Clock::now();
    is_at_end_ = !declared_.next_event(EventView(*slot, declared_.source));
  } catch (...) {
    run_failure_.keep(std::current_exception());
    is_at_end_ = true;
  }
  if (is_at_end_) {
    const std::lock_guard lock(mutex_);
    placement_.end(slot->device, std::nullopt);
    give_back(*slot);
    --under_way_;
    return nullptr;
  }
  ++next_number_;
  return slot;
}

void ModuleRun::begin_event(Slot& slot) {
  slot.is_failed.store(false);
  slot.failure.reset();
  slot.modules_left.store(declared_.modules.size());
  for (std::size_t module = 0; module < declared_.modules.size(); ++module) {
    slot.waits_for[module].store(declared_.modules[module].waits_for);
  }
  if (declared_.modules.empty()) return end_event(slot);
  Step* last = nullptr;  // which this thread begins
  for (Step& step : slot.steps) {
    if (step.module->waits_for > 0) continue;
    if (last != nullptr) spawn([this, last] { begin_module(*last); });
    last = &step;
  }
  begin_module(*last);
}

void ModuleRun::begin_module(Step& step) {
  if (step.slot->is_failed.load()) return end_module(step, nullptr);
  enter(*step.slot);
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

/// The calling thread is about to work for the device of a slot.
void ModuleRun::enter(const Slot& slot) {
  thread_local Device last = Device::cpu();
  const Device device = slot.queue.device();
  if (std::exchange(last, device) != device) thread_moves_.fetch_add(1, std::memory_order_relaxed);
}

void ModuleRun::call(Continuation task) {
  // The event may be over when the task returns.
  const Step& step = *static_cast<const Step*>(task.owner());
  enter(*step.slot);
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
  if (slot.is_failed.load() && lost_its_device(slot) && moves(slot)) {
    return spawn([this, &slot] { begin_event(slot); });
  }
  slot.latency = Clock::now() - slot.begin;
  {
    const std::lock_guard lock(mutex_);
    placement_.end(slot.device, slot.latency);
  }
  if (options_.trace != nullptr) options_.trace->add_memory(slot.queue.device());
  deliver(slot);
}

bool ModuleRun::lost_its_device(const Slot& slot) const {
  return !slot.queue.device().is_cpu() && is_lost_device(slot.failure->error);
}

/// To another device with all that the slot is, so that the event runs there now: a slot that is
/// free may never come, where all of them wait for their turn after this event. With one GPU the others
/// may be lost, too: then it tries the next device.
bool ModuleRun::moves(Slot& slot) noexcept {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      placement_.lose(slot.device);
      totals_.devices[slot.device].is_lost = true;
      const auto device = placement_.move(slot.device);
      if (!device) return false;
      slot.device = *device;
    }
    const Device device = options_.devices[slot.device];
    try {
      const std::lock_guard making(places_[slot.device].making);
      const Queue queue(device);
      std::vector<Object> data = make_data(declared_, queue);
      for (const std::size_t datum : declared_.source.writes)
        std::swap(data[datum], slot.data[datum]);
      slot.data = std::move(data);
      slot.queue = queue;
      const std::lock_guard lock(mutex_);
      ++totals_.rerun;
      return true;
    } catch (const std::exception& error) {
      slot.failure->message += "; it could not run on " + to_string(device) + ": " + error.what();
      if (!is_lost_device(std::current_exception())) return false;
    }
  }
}

void ModuleRun::deliver(Slot& slot) {
  EndedEvent* const left = leave(slot);
  EndedEvent& event = left != nullptr ? *left : slot;
  if (left != nullptr) request_events();
  if (lanes_.empty()) return release(event, true);
  event.sinks_left.store(lanes_.size());
  for (const auto& lane : lanes_) lane->add(event);
}

/// Makes the slot free and takes with it what sinks see of the event. @return nullptr where it keeps its slot
ModuleRun::EndedEvent* ModuleRun::leave(Slot& slot) {
  if (leaving_.empty()) return nullptr;
  const std::lock_guard lock(mutex_);
  if (free_ended_.empty()) {
    if (ended_.size() == options_.ended) return nullptr;
    try {
      auto made =
          std::make_unique<EndedEvent>(in_flight_ * places_.size() + ended_.size(), slot.queue);
      for (std::size_t datum = 0; datum < declared_.data.size(); ++datum)
        made->data.emplace_back(nullptr, nullptr);
      for (const std::size_t datum : leaving_)
        made->data[datum] = declared_.data[datum].make(slot.queue);
      free_ended_.push_back(made.get());
      ended_.push_back(std::move(made));
    } catch (...) {  // it waits with its slot
      return nullptr;
    }
  }
  EndedEvent* const event = free_ended_.back();
  free_ended_.pop_back();
  event->queue = slot.queue;
  event->number = slot.number;
  event->latency = slot.latency;
  event->failure = std::move(slot.failure);
  for (const std::size_t datum : leaving_) std::swap(event->data[datum], slot.data[datum]);
  give_back(slot);
  return event;
}

void ModuleRun::give_back(Slot& slot) {
  placement_.give_back(slot.device);
  places_[slot.device].free.push_back(&slot);
}

void ModuleRun::give(const SinkNode& sink, EndedEvent& event) noexcept {
  if (has_sinks_.load()) {
    try {
      if (!event.failure) {
        sink.call(EventView(event, sink));
      } else if (sink.on_failure) {
        sink.on_failure(EventView(event, after_failure_), *event.failure);
      }
    } catch (...) {
      has_sinks_.store(false);
      run_failure_.keep(std::current_exception());
    }
  }
  if (event.sinks_left.fetch_sub(1) == 1) release(event, has_sinks_.load());
}

void ModuleRun::release(EndedEvent& event, bool is_delivered) {
  {
    const std::lock_guard lock(mutex_);
    const auto device = std::ranges::find(options_.devices, event.queue.device());
    ++totals_.devices[static_cast<std::size_t>(device - options_.devices.begin())].events;
    if (event.failure) ++totals_.failed;
    if (!event.failure && is_delivered) ++totals_.delivered;
    totals_.latency.add(event.latency);
    --under_way_;
    if (event.slot != nullptr) {
      give_back(*event.slot);
    } else {
      free_ended_.push_back(&event);
    }
  }
  request_events();
}

/// The first failure is that of the event. An exception that is not an error of one event ends the run.
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
