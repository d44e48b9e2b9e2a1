// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tensoa/core/device.hpp"
#include "tensoa/core/queue.hpp"
#include "tensoa/sched/impl/module_graph.hpp"
#include "tensoa/sched/order.hpp"
#include "tensoa/sched/run.hpp"
#include "tensoa/sched/task.hpp"

/// @file
/// Modules that read and write the data of an event, run for many events at a time on oneTBB.
/// "Event" means a collision here; a point of a queue is core/event.hpp.

namespace tensoa::sched {

/// Names an object of type T that each event in flight has. Made by ModuleGraph::data().
template <class T>
class Datum {
 public:
  std::size_t index() const noexcept { return index_; }

 private:
  friend class ModuleGraph;
  explicit Datum(std::size_t index) : index_(index) {}
  std::size_t index_;
};

/// What a module declares that it reads.
struct Reads {
  std::vector<std::size_t> data;
};
/// What a module declares that it writes.
struct Writes {
  std::vector<std::size_t> data;
};
template <class... T>
Reads reads(const Datum<T>&... data) {
  return {{data.index()...}};
}
template <class... T>
Writes writes(const Datum<T>&... data) {
  return {{data.index()...}};
}

/// An event as one module sees it. Cheap to copy. *Lifetime*: until the module ends.
class EventView {
 public:
  /// Which event of the source this is, from 0.
  std::size_t number() const noexcept { return slot_->number; }
  /// Below the number of events in flight on all devices; no two events have the same one at a time. In a
  /// sink of a run with RunOptions::ended it may be beyond that, and says nothing about where the modules ran.
  std::size_t slot() const noexcept { return slot_->index; }
  /// The device that this event runs on, and its queue there. All modules of an event share the
  /// queue, so that what one enqueues follows what the modules before it enqueued, without a wait.
  const Queue& queue() const noexcept { return slot_->queue; }
  Device device() const noexcept { return slot_->queue.device(); }

  /// A datum that the module declared in reads() or writes().
  /// @throws ConfigError for any other
  template <class T>
  const T& read(const Datum<T>& datum) const {
    return *static_cast<const T*>(detail::access(*slot_, *module_, datum.index(), false));
  }
  /// A datum that the module declared in writes(): what the event before left there, to be
  /// overwritten.
  template <class T>
  T& write(const Datum<T>& datum) const {
    return *static_cast<T*>(detail::access(*slot_, *module_, datum.index(), true));
  }

 private:
  friend class detail::ModuleRun;
  EventView(const detail::EventSlot& slot, const detail::ModuleNode& module)
      : slot_(&slot), module_(&module) {}
  const detail::EventSlot* slot_;
  const detail::ModuleNode* module_;
};

/// A source of events, modules and sinks, and the data between them.
///
///     sched::ModuleGraph graph;
///     const auto file = graph.data<Path>("file");
///     const auto hits = graph.data<Hits>("hits");
///     const auto tracks = graph.data<Tracks>("tracks");
///     graph.source(writes(file), [&](EventView event) { return files.next(event.write(file)); });
///     graph.module("read", reads(file), writes(hits),
///                  [&](EventView event) { read(event.read(file), event.write(hits)); });
///     graph.module("track", reads(hits), writes(tracks), [&](EventView event) -> sched::Task {
///       launch(event.queue(), event.read(hits), event.write(tracks));
///       co_await sched::done(event.queue());
///     });
///     graph.sink("write", reads(tracks), Order::kInput,
///                [&](EventView event) { writer.append(event.read(tracks)); });
///     const RunTotals totals = graph.run({.devices = {Device::cuda(0), Device::cpu()}});
///
/// A module runs once what it reads is written. Modules of one event that do not depend on each
/// other run at the same time, and so do modules of different events: a module is called by several
/// threads at a time, and keeps what they cannot share by EventView::slot(). Source and sinks are
/// called by one thread at a time.
///
/// *Errors*: a tensoa::Error or std::bad_alloc that a module throws ends this event alone: modules
/// that have not begun are left out, and the sinks' `on_failure` is called. Any other exception,
/// and any of a source or sink, ends the run: run() finishes the events in flight and throws the
/// first one. A device that is lost (DeviceLostError) gets no more events; those that were there
/// run again on another device, from the data of the source. Sinks get each event once.
///
/// *Threads*: runs on the arena of oneTBB that the caller is in; the calling thread takes part.
/// Makes no thread. What each device needs is made by tasks, of different devices at the same time; events begin
/// when each has its first place. A module that waits holds no thread, so that modules may use oneTBB inside, and
/// run() may be called from a task.
class ModuleGraph {
 public:
  ModuleGraph();
  ~ModuleGraph();
  ModuleGraph(const ModuleGraph&) = delete;
  ModuleGraph& operator=(const ModuleGraph&) = delete;

  /// An object for each event in flight, made before its first event and overwritten by each one, so
  /// that its memory is kept. @throws ConfigError for a name that is there
  template <class T>
  Datum<T> data(const std::string& name) {
    return Datum<T>(add_datum(
        name, [](const Queue&) { return object_of<T>([] { return T{}; }); }, false));
  }
  /// @param make `T make(const Queue&)`, the queue being that of the event in flight; called by one
  /// thread at a time for each device; T need not be movable. What the source writes moves between devices, so it
  /// should lie on the host.
  template <class T, class Make>
  Datum<T> data(const std::string& name, Make make) {
    return Datum<T>(add_datum(
        name,
        [make = std::move(make)](const Queue& queue) {
          return object_of<T>([&] { return make(queue); });
        },
        true));
  }

  /// Where events come from: fills its data and returns true, or returns false at the end, after
  /// which it is not called again.
  void source(Writes writes, std::function<bool(EventView)> next);

  /// @param work `void(EventView)`, or a coroutine `Task(EventView)` that may wait
  template <class Work>
  void module(const std::string& name, Reads reads, Writes writes, Work work) {
    if constexpr (std::is_void_v<std::invoke_result_t<Work&, EventView>>) {
      add_module(name, std::move(reads), std::move(writes), std::move(work), {});
    } else {
      add_module(name, std::move(reads), std::move(writes), {}, std::move(work));
    }
  }

  /// A module in two halves: `acquire(event)` enqueues on the event's queue, `produce(event)` is
  /// called when that is done.
  template <class Acquire, class Produce>
  void module(const std::string& name, Reads reads, Writes writes, Acquire acquire,
              Produce produce) {
    module(name, std::move(reads), std::move(writes),
           [acquire = std::move(acquire), produce = std::move(produce)](EventView event) -> Task {
             acquire(event);
             co_await done(event.queue());
             produce(event);
           });
  }

  /// Gets each event whose modules have all ended. @param on_failure called instead, in the same
  /// order, for an event that failed; `read` in it only what the source wrote
  void sink(const std::string& name, Reads reads, Order order,
            std::function<void(EventView)> on_event,
            std::function<void(EventView, const EventFailure&)> on_failure = {});

  /// Checks what is declared. run() does it, too.
  /// @throws ConfigError that names the modules and data: no source, a datum that is read and never
  /// written or written twice, modules that wait for each other
  void check() const;

  /// Runs until the source ends or a stop is requested.
  /// @throws ConfigError as check(), for no device or one device twice, and where a sink reads a datum with a `make`
  /// in a run with `ended`; DeviceError for a device that is not there; what `make` of a datum throws; DeviceLostError when no device is
  /// left; and see above
  RunTotals run(const RunOptions& options = {});

 private:
  template <class T, class Make>
  static detail::Object object_of(const Make& make) {
    return {new T(make()), [](void* made) { delete static_cast<T*>(made); }};
  }
  std::size_t add_datum(const std::string& name, std::function<detail::Object(const Queue&)> make,
                        bool has_maker);
  void add_module(const std::string& name, Reads reads, Writes writes,
                  std::function<void(EventView)> call, std::function<Task(EventView)> task);

  std::unique_ptr<detail::Declared> declared_;
};

}  // namespace tensoa::sched
