// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <new>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <vector>

#include "tensoa/core/result.hpp"
#include "tensoa/sched/impl/in_flight.hpp"
#include "tensoa/sched/order.hpp"

/// @file
/// Collision events on oneTBB. "Event" means a collision here; a point of a queue is
/// core/event.hpp.

namespace tensoa::sched {

/// Options of run_events().
struct EventOptions {
  /// Events taken from the source and not yet given to the sink, at most: this bounds the memory.
  /// Above the number of threads it keeps them busy while an event waits for its turn or is
  /// suspended. 0: two for each thread of the arena.
  std::size_t in_flight = 0;
  Order order = Order::kInput;
  /// Once a stop is requested, from any thread, no event is taken any more. Those in flight are
  /// finished, and the sink gets them.
  std::stop_token stop = {};
};

/// What run_events() has done.
struct EventTotals {
  std::size_t delivered = 0;  ///< events given to the sink
  std::size_t failed = 0;     ///< of these, with an error
  bool is_stopped = false;    ///< a stop was requested before the end of the source
};

namespace detail {

/// The stages of an event, by its place among those in flight.
struct EventStages {
  std::function<bool(std::size_t place)> take;  ///< false: the end of the source
  std::function<void(std::size_t place, std::size_t slot)> work;
  std::function<void(std::size_t place)> deliver;
};

/// @return whether a stop was requested before the end of the source
bool run_stages(const EventStages& stages, std::size_t in_flight, const EventOptions& options);

}  // namespace detail

/// Runs `work` on each event of `source`, on several at a time, and gives the results to `sink`.
///
///     tbb::task_arena arena(8);
///     const sched::EventTotals totals = arena.execute([&] {
///       return sched::run_events(
///           [&]() -> std::optional<Path> { return next_file(); },
///           [&](Path& file, std::size_t slot) { return pipelines[slot].process(file); },
///           [&](Path& file, Result<Tracks> tracks) {
///             tracks ? write(*tracks) : report(file, tracks.message());
///           },
///           {.in_flight = pipelines.size()});
///     });
///
/// @param source called as `source()`: `std::optional<Event>`, empty at the end; their number need
/// not be known. Never called by two threads at a time, nor again after the end
/// @param work called once for each event, as `work(Event&, slot)`, by several threads at a time.
/// Returns a value, which is moved. A `tensoa::Error` that it throws is the result of this event
/// alone, and so is std::bad_alloc, as a DeviceFullError.
/// `slot` is below `in_flight`, and no two events have the same one at a time: keep by slot what
/// they cannot share (queues, collections, plans). It is the lowest that is free, so it also stays
/// below the number of threads of the arena where no work is suspended (wait_suspended())
/// @param sink called once for each event, as `sink(Event&, Result<Value>)`, in the order of
/// EventOptions::order; never by two threads at a time. To end the run at an event that failed, request a stop here
///
/// @throws what `source` and `sink` throw, and what `work` throws beyond the errors above: the
/// first of them, after all events in flight are finished. Until then the sink gets those that have
/// a result, unless it was the sink that threw
///
/// *Threads*: runs on the arena of oneTBB that the caller is in, whose threads bound how many
/// events are worked on at a time; the calling thread takes part and comes back when all is done.
/// Makes no thread and no arena. In an arena of one thread everything runs in the calling thread.
/// While `work` waits for its own parallel work, its thread takes no other event. Cancelling a
/// surrounding tbb::task_group does not end the run; `stop` does.
///
/// *Memory*: one event and one result for each event in flight.
template <std::invocable<> Source, class Work, class Sink>
EventTotals run_events(Source source, Work work, Sink sink, const EventOptions& options = {}) {
  using Event = typename std::remove_cvref_t<std::invoke_result_t<Source&>>::value_type;
  using Value = std::remove_cvref_t<std::invoke_result_t<Work&, Event&, std::size_t>>;
  static_assert(!std::is_void_v<Value>, "run_events: work must return a value");
  struct InFlight {
    std::optional<Event> event;
    std::optional<Result<Value>> result;  ///< empty after an exception that ends the run
  };
  const std::size_t in_flight = detail::events_in_flight(options.in_flight);
  std::vector<InFlight> events(in_flight);
  EventTotals totals;
  const auto take = [&](std::size_t place) {
    events[place].event = source();
    return events[place].event.has_value();
  };
  const auto run = [&](std::size_t place, std::size_t slot) {
    InFlight& now = events[place];
    try {
      now.result = Result<Value>::of([&] { return work(*now.event, slot); });
    } catch (const std::bad_alloc&) {
      now.result = Result<Value>::failure(detail::no_memory_for_event());
    }
  };
  const auto deliver = [&](std::size_t place) {
    InFlight done = std::exchange(events[place], {});
    if (!done.result) return;
    const bool is_failed = !done.result->has_value();
    sink(*done.event, std::move(*done.result));
    ++totals.delivered;
    if (is_failed) ++totals.failed;
  };
  totals.is_stopped = detail::run_stages({take, run, deliver}, in_flight, options);
  return totals;
}

}  // namespace tensoa::sched
