// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/sched/module_graph.hpp"

#include <gtest/gtest.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "sched/event_sources.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/sched/trace.hpp"
#include "tensoa/sched/waiting.hpp"

namespace tensoa::sched {
namespace {

using test::in_arena;

/// A graph over the numbers below `events`: number → twice → sum, and what the sink got.
class Numbers {
 public:
  explicit Numbers(std::size_t events) : events_(events) {
    graph.source(writes(number), [this](EventView event) {
      event.write(number) = event.number();
      return event.number() < events_;
    });
  }

  void add_sink(Order order = Order::kInput) {
    graph.sink(
        "collect", reads(result), order,
        [this](EventView event) { got.push_back(event.read(result)); },
        [this](EventView event, const EventFailure& failure) {
          EXPECT_EQ(event.read(number), failure.number);
          failures.push_back(failure);
        });
  }

  std::size_t events_;
  ModuleGraph graph;
  Datum<std::size_t> number = graph.data<std::size_t>("number");
  Datum<std::size_t> result = graph.data<std::size_t>("result");
  std::vector<std::size_t> got;
  std::vector<EventFailure> failures;
};

std::vector<std::size_t> first_numbers(std::size_t count, std::size_t times = 1) {
  std::vector<std::size_t> all(count);
  for (std::size_t number = 0; number < count; ++number) all[number] = number * times;
  return all;
}

template <class Function>
std::string message_of(const Function& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// A wait that a thread outside of oneTBB ends, as a GPU's driver would.
class Outside {
 public:
  ~Outside() {
    for (std::thread& thread : threads_) thread.join();
  }
  auto wait(std::chrono::microseconds time) {
    return completed<int>([this, time](auto completion) {
      const std::lock_guard lock(mutex_);
      threads_.emplace_back([completion, time]() mutable {
        std::this_thread::sleep_for(time);
        completion(Result<int>(1));
      });
    });
  }

 private:
  std::mutex mutex_;
  std::vector<std::thread> threads_;
};

TEST(ModuleGraph, RunsModulesInTheOrderOfTheirDataAndSinksInThatOfTheSource) {
  for (const int threads : {1, 4}) {
    Numbers numbers(1000);
    const auto twice = numbers.graph.data<std::size_t>("twice");
    const auto plus = numbers.graph.data<std::size_t>("plus");
    // Declared in reverse: only the data order them.
    numbers.graph.module("sum", reads(twice, plus), writes(numbers.result), [&](EventView event) {
      event.write(numbers.result) = event.read(twice) + event.read(plus);
    });
    numbers.graph.module("plus", reads(twice), writes(plus),
                         [&](EventView event) { event.write(plus) = event.read(twice) + 1; });
    numbers.graph.module("twice", reads(numbers.number), writes(twice), [&](EventView event) {
      event.write(twice) = 2 * event.read(numbers.number);
    });
    numbers.add_sink();
    const RunTotals totals = in_arena(threads, [&] { return numbers.graph.run(); });
    std::vector<std::size_t> expected = first_numbers(1000, 4);
    for (std::size_t& value : expected) ++value;
    EXPECT_EQ(numbers.got, expected);
    EXPECT_EQ(totals.delivered, 1000U);
    EXPECT_EQ(totals.failed, 0U);
    EXPECT_FALSE(totals.is_stopped);
    ASSERT_EQ(totals.devices.size(), 1U);
    EXPECT_EQ(totals.devices[0].events, 1000U);
    EXPECT_EQ(totals.latency.count(), 1000U);
  }
}

TEST(ModuleGraph, RunsAgainAndWithoutEventsModulesOrSinks) {
  Numbers numbers(3);
  EXPECT_EQ(numbers.graph.run().delivered, 3U);
  EXPECT_EQ(numbers.graph.run().delivered, 3U);
  numbers.graph.module("copy", reads(numbers.number), writes(numbers.result), [&](EventView event) {
    event.write(numbers.result) = event.read(numbers.number);
  });
  numbers.add_sink();
  EXPECT_EQ(numbers.graph.run().delivered, 3U);
  EXPECT_EQ(numbers.got, first_numbers(3));
  Numbers none(0);
  EXPECT_EQ(none.graph.run().delivered, 0U);
}

TEST(ModuleGraph, AModuleThatWaitsHoldsNoThread) {
  constexpr std::size_t kEvents = 8;
  Numbers numbers(kEvents);
  Outside outside;
  std::atomic<std::size_t> waiting = 0;
  std::atomic<std::size_t> most = 0;
  numbers.graph.module("wait", reads(numbers.number), writes(numbers.result),
                       [&](EventView event) -> Task {
                         most = std::max(most.load(), ++waiting);
                         static_cast<void>(co_await outside.wait(std::chrono::milliseconds(500)));
                         --waiting;
                         event.write(numbers.result) = event.read(numbers.number);
                       });
  numbers.add_sink();
  in_arena(1, [&] { return numbers.graph.run({.in_flight = kEvents}); });
  EXPECT_EQ(most, kEvents) << "one thread must have begun all events before the first continues";
  EXPECT_EQ(numbers.got, first_numbers(kEvents));
}

TEST(ModuleGraph, UnorderedSinksGetEventsAsTheyAreDone) {
  Numbers numbers(2);
  Outside outside;
  numbers.graph.module(
      "wait", reads(numbers.number), writes(numbers.result), [&](EventView event) -> Task {
        const bool is_first = event.read(numbers.number) == 0;
        static_cast<void>(co_await outside.wait(std::chrono::milliseconds(is_first ? 300 : 1)));
        event.write(numbers.result) = event.read(numbers.number);
      });
  numbers.add_sink(Order::kCompletion);
  in_arena(1, [&] { return numbers.graph.run({.in_flight = 2}); });
  EXPECT_EQ(numbers.got, (std::vector<std::size_t>{1, 0}));
}

TEST(ModuleGraph, TheSecondHalfOfAModuleComesAfterTheFirst) {
  Numbers numbers(10);
  numbers.graph.module(
      "halves", reads(numbers.number), writes(numbers.result),
      [&](EventView event) { event.write(numbers.result) = event.read(numbers.number); },
      [&](EventView event) { event.write(numbers.result) *= 3; });
  numbers.add_sink();
  numbers.graph.run();
  EXPECT_EQ(numbers.got, first_numbers(10, 3));
}

TEST(ModuleGraph, EachEventInFlightHasASlotAndKeepsItsObjects) {
  constexpr std::size_t kInFlight = 3;
  Numbers numbers(200);
  std::atomic<int> made = 0;
  std::mutex mutex;
  std::set<std::size_t> taken;
  std::atomic<std::size_t> begun = 0;
  const auto kept = numbers.graph.data<std::vector<std::size_t>>("kept", [&](const Queue& queue) {
    EXPECT_TRUE(queue.device().is_cpu());
    ++made;
    return std::vector<std::size_t>();
  });
  numbers.graph.module("work", reads(numbers.number), writes(kept, numbers.result),
                       [&](EventView event) {
                         {
                           const std::lock_guard lock(mutex);
                           EXPECT_TRUE(taken.insert(event.slot()).second);
                           EXPECT_LT(event.slot(), kInFlight);
                         }
                         ++begun;
                         while (begun < kInFlight) std::this_thread::yield();
                         event.write(kept).push_back(event.number());
                         event.write(numbers.result) = event.number();
                         const std::lock_guard lock(mutex);
                         taken.erase(event.slot());
                       });
  std::size_t most = 0;
  numbers.graph.sink("count", reads(kept), Order::kInput,
                     [&](EventView event) { most = std::max(most, event.read(kept).size()); });
  numbers.add_sink();
  in_arena(4, [&] { return numbers.graph.run({.in_flight = kInFlight}); });
  EXPECT_EQ(made, static_cast<int>(kInFlight));
  EXPECT_GT(most, 200 / kInFlight / 2);
  EXPECT_EQ(numbers.got, first_numbers(200));
}

TEST(ModuleGraph, OneThreadEndsEventsInTheOrderOfTheSource) {
  Numbers numbers(100);
  numbers.graph.module("work", reads(numbers.number), writes(numbers.result), [&](EventView event) {
    event.write(numbers.result) = event.read(numbers.number);
  });
  numbers.add_sink(Order::kCompletion);
  in_arena(1, [&] { return numbers.graph.run(); });
  EXPECT_EQ(numbers.got, first_numbers(100));
}

// --- errors ---

TEST(ModuleGraph, AnEventThatIsLateStopsNoOtherWhereTheseMayWaitForTheirTurn) {
  constexpr std::size_t kEvents = 60;
  constexpr std::size_t kBefore = 40;  // that are taken while event 0 is on its way
  Numbers numbers(kEvents);
  Outside outside;
  std::atomic<std::size_t> begun = 0;
  numbers.graph.module("work", reads(numbers.number), writes(numbers.result),
                       [&](EventView event) -> Task {
                         ++begun;
                         event.write(numbers.result) = 2 * event.read(numbers.number);
                         for (int turn = 0; event.number() == 0 && begun < kBefore; ++turn) {
                           if (turn == 5000) throw InputError("the others did not begin");
                           static_cast<void>(co_await outside.wait(std::chrono::milliseconds(1)));
                         }
                         if (event.number() == 7) throw InputError("no");
                       });
  numbers.add_sink();
  const RunTotals totals =
      in_arena(2, [&] { return numbers.graph.run({.in_flight = 2, .ended = kBefore}); });
  EXPECT_EQ(totals.delivered, kEvents - 1);
  EXPECT_EQ(totals.devices[0].places, 2U);
  ASSERT_EQ(numbers.failures.size(), 1U);
  EXPECT_EQ(numbers.failures[0].number, 7U);
  std::vector<std::size_t> expected = first_numbers(kEvents, 2);
  expected.erase(expected.begin() + 7);
  EXPECT_EQ(numbers.got, expected);
}

TEST(ModuleGraph, RefusesSinksOfDataThatAreMadeForAQueueWhereEventsLeaveTheirs) {
  ModuleGraph graph;
  const auto made = graph.data<int>("made", [](const Queue&) { return 1; });
  graph.source(writes(made), [](EventView) { return false; });
  graph.sink("look", reads(made), Order::kInput, [](EventView) {});
  EXPECT_EQ(graph.run().delivered, 0U);
  const std::string message = message_of([&] { graph.run({.ended = 1}); });
  EXPECT_NE(message.find("\"made\" is made for a queue"), std::string::npos) << message;
}

TEST(ModuleGraph, AnErrorEndsItsEventAloneAndModulesAfterItAreLeftOut) {
  Numbers numbers(20);
  std::atomic<int> after = 0;
  const auto checked = numbers.graph.data<std::size_t>("checked");
  numbers.graph.module("check", reads(numbers.number), writes(checked),
                       [&](EventView event) -> Task {
                         co_await done(event.queue());
                         if (event.number() % 5 == 3)
                           throw InputError("event " + std::to_string(event.number()) + " is odd");
                         if (event.number() == 10) throw std::bad_alloc();
                         event.write(checked) = event.number();
                       });
  numbers.graph.module("after", reads(checked), writes(numbers.result), [&](EventView event) {
    ++after;
    event.write(numbers.result) = event.read(checked);
  });
  numbers.add_sink();
  const RunTotals totals = in_arena(3, [&] { return numbers.graph.run(); });
  EXPECT_EQ(totals.delivered, 15U);
  EXPECT_EQ(totals.failed, 5U);
  EXPECT_EQ(after, 15);
  ASSERT_EQ(numbers.failures.size(), 5U);
  EXPECT_EQ(numbers.failures[0].number, 3U);
  EXPECT_EQ(numbers.failures[0].module, "check");
  EXPECT_EQ(numbers.failures[0].message, "event 3 is odd");
  EXPECT_THROW(std::rethrow_exception(numbers.failures[0].error), InputError);
  EXPECT_EQ(numbers.failures[2].number, 10U);
  EXPECT_THROW(std::rethrow_exception(numbers.failures[2].error), DeviceFullError);
}

TEST(ModuleGraph, StopsAtTheFirstFailureWhereThatIsAskedFor) {
  Numbers numbers(100000);
  numbers.graph.module("fail", reads(numbers.number), writes(numbers.result), [&](EventView event) {
    if (event.number() == 4) throw InputError("here");
    event.write(numbers.result) = event.number();
  });
  numbers.add_sink();
  const RunTotals totals =
      in_arena(2, [&] { return numbers.graph.run({.in_flight = 2, .stops_at_failure = true}); });
  EXPECT_TRUE(totals.is_stopped);
  EXPECT_EQ(totals.failed, 1U);
  EXPECT_LT(totals.delivered, 100U);
}

TEST(ModuleGraph, AStopFinishesTheEventsInFlight) {
  Numbers numbers(100000);
  std::stop_source stop;
  std::atomic<std::size_t> begun = 0;
  numbers.graph.module("work", reads(numbers.number), writes(numbers.result), [&](EventView event) {
    if (++begun == 10) stop.request_stop();
    event.write(numbers.result) = event.number();
  });
  numbers.add_sink();
  const RunTotals totals =
      in_arena(2, [&] { return numbers.graph.run({.stop = stop.get_token()}); });
  EXPECT_TRUE(totals.is_stopped);
  EXPECT_EQ(totals.delivered, begun);
  EXPECT_EQ(numbers.got, first_numbers(begun));
}

TEST(ModuleGraph, AnyOtherExceptionEndsTheRunAfterTheEventsInFlight) {
  Numbers numbers(100000);
  std::atomic<std::size_t> begun = 0;
  numbers.graph.module("throw", reads(numbers.number), writes(numbers.result),
                       [&](EventView event) {
                         ++begun;
                         if (event.number() == 7) throw std::logic_error("bug");
                         event.write(numbers.result) = event.number();
                       });
  numbers.add_sink();
  EXPECT_THROW(in_arena(2, [&] { return numbers.graph.run(); }), std::logic_error);
  EXPECT_EQ(numbers.got.size() + 1, begun);
}

TEST(ModuleGraph, ThrowsWhatTheSourceOrASinkThrows) {
  ModuleGraph graph;
  const auto number = graph.data<std::size_t>("number");
  graph.source(writes(number), [&](EventView event) -> bool {
    if (event.number() == 3) throw InputError("damaged file");
    return true;
  });
  std::size_t got = 0;
  graph.sink("count", reads(number), Order::kInput, [&](EventView) { ++got; });
  EXPECT_EQ(message_of([&] { graph.run(); }), "damaged file");
  EXPECT_EQ(got, 3U);

  Numbers numbers(100000);
  std::size_t calls = 0;
  numbers.graph.sink("disk", reads(numbers.number), Order::kInput, [&](EventView) {
    if (++calls == 5) throw OutputError("disk is full");
  });
  EXPECT_EQ(message_of([&] { in_arena(2, [&] { return numbers.graph.run(); }); }), "disk is full");
  EXPECT_EQ(calls, 5U) << "a sink that threw is called no more";
}

TEST(ModuleGraph, RefusesDataThatWereNotDeclared) {
  Numbers numbers(1);
  const auto secret = numbers.graph.data<int>("secret");
  numbers.graph.module("honest", reads(numbers.number), writes(secret), [](EventView) {});
  numbers.graph.module("sly", reads(numbers.number), writes(numbers.result), [&](EventView event) {
    event.write(numbers.result) = event.read(secret) > 0;
  });
  numbers.add_sink();
  numbers.graph.run();
  ASSERT_EQ(numbers.failures.size(), 1U);
  EXPECT_NE(numbers.failures[0].message.find("\"sly\" reads"), std::string::npos)
      << numbers.failures[0].message;
  EXPECT_NE(numbers.failures[0].message.find("reads()"), std::string::npos);
}

TEST(ModuleGraph, ChecksWhatIsDeclaredBeforeItRuns) {
  const auto nothing = [](EventView) {};
  ModuleGraph graph;
  EXPECT_EQ(message_of([&] { graph.check(); }),
            "ModuleGraph: there is no source; add one with source()");
  const auto a = graph.data<int>("a");
  const auto b = graph.data<int>("b");
  const auto c = graph.data<int>("c");
  graph.source(writes(a), [](EventView) { return false; });
  graph.module("from c", reads(c), writes(b), nothing);
  EXPECT_EQ(message_of([&] { graph.check(); }),
            "ModuleGraph: \"from c\" reads \"c\", which nothing writes; written are \"a\", \"b\"");
  graph.module("from b", reads(b), writes(c), nothing);
  EXPECT_EQ(message_of([&] { graph.check(); }),
            "ModuleGraph: modules wait for each other: \"from c\" → \"from b\" → \"from c\"; let "
            "none read "
            "what depends on what it writes");
  graph.module("again", reads(a), writes(b), nothing);
  EXPECT_EQ(message_of([&] { graph.run(); }),
            "ModuleGraph: \"b\" is written by \"from c\" and by \"again\"; expected one writer, "
            "let one of "
            "them write another datum");
  EXPECT_THROW(graph.data<int>("a"), ConfigError);
  EXPECT_THROW(graph.module("again", reads(a), {}, nothing), ConfigError);
  EXPECT_THROW(graph.source(writes(a), [](EventView) { return false; }), ConfigError);
  Numbers numbers(1);
  EXPECT_THROW(numbers.graph.run({.devices = {}}), ConfigError);
  EXPECT_THROW(numbers.graph.run({.devices = {Device::cpu(), Device::cpu()}}), ConfigError);
}

TEST(ModuleGraph, AModuleThatReadsWhatItWritesWaitsForItself) {
  ModuleGraph graph;
  const auto a = graph.data<int>("a");
  graph.source({}, [](EventView) { return false; });
  graph.module("snake", reads(a), writes(a), [](EventView) {});
  EXPECT_NE(message_of([&] { graph.check(); }).find("\"snake\" → \"snake\""), std::string::npos);
}

// --- inside of others' oneTBB (oneTBB issues 1822 and 1909) ---

/// Each event waits for a thread outside, so that a run which relied on enqueued tasks alone would
/// hang.
std::size_t run_waiting_events(std::size_t events) {
  Numbers numbers(events);
  Outside outside;
  numbers.graph.module(
      "wait", reads(numbers.number), writes(numbers.result), [&](EventView event) -> Task {
        static_cast<void>(co_await outside.wait(std::chrono::milliseconds(2)));
        std::atomic<std::size_t> sum = 0;
        tbb::parallel_for(0, 4, [&](int) { ++sum; });
        tbb::task_group group;
        group.run([&] { ++sum; });
        group.wait();
        tbb::task_arena nested(1);
        nested.execute([&] { tbb::parallel_for(0, 4, [&](int) { ++sum; }); });
        tbb::this_task_arena::isolate([&] { tbb::parallel_for(0, 4, [&](int) { ++sum; }); });
        event.write(numbers.result) = sum;
      });
  numbers.add_sink();
  numbers.graph.run({.in_flight = 4});
  EXPECT_EQ(numbers.got, std::vector<std::size_t>(events, 13));
  return numbers.got.size();
}

TEST(ModuleGraph, RunsInANestedArena) {
  in_arena(1, [&] {
    tbb::task_arena nested(1);
    return nested.execute([] { return run_waiting_events(20); });
  });
}

TEST(ModuleGraph, RunsInsideTasksOfAllThreadsOfAnArena) {
  std::atomic<std::size_t> events = 0;
  in_arena(2, [&] { tbb::parallel_for(0, 8, [&](int) { events += run_waiting_events(5); }); });
  EXPECT_EQ(events, 40U);
}

TEST(ModuleGraph, RunsInAnIsolatedRegionAndInATaskGroup) {
  in_arena(2, [&] {
    tbb::this_task_arena::isolate([] { run_waiting_events(10); });
    tbb::task_group group;
    for (int run = 0; run < 3; ++run) group.run([] { run_waiting_events(10); });
    group.wait();
  });
}

/// oneTBB drops the tasks of a group that is cancelled.
TEST(ModuleGraph, ACancelledTaskGroupAroundARunEndsNoEvent) {
  Numbers numbers(100);
  in_arena(2, [&] {
    tbb::task_group group;
    numbers.graph.module("work", reads(numbers.number), writes(numbers.result),
                         [&](EventView event) {
                           if (event.number() == 10) group.cancel();
                           event.write(numbers.result) = event.number();
                         });
    numbers.add_sink();
    group.run_and_wait([&] { numbers.graph.run(); });
  });
  EXPECT_EQ(numbers.got, first_numbers(100));
}

// --- pictures ---

TEST(Trace, HasEachModuleOfEachEventOnAThreadAndOnASlot) {
  Numbers numbers(5);
  numbers.graph.module("work", reads(numbers.number), writes(numbers.result),
                       [&](EventView event) { event.write(numbers.result) = event.number(); });
  Trace trace;
  const RunTotals totals = numbers.graph.run({.trace = &trace});
  const auto json = nlohmann::json::parse(trace.to_json());
  std::set<std::size_t> on_threads;
  std::set<std::size_t> on_slots;
  std::set<std::size_t> places;
  for (const auto& event : json.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    EXPECT_GE(event.at("dur").get<double>(), 0);
    const auto number = event.at("args").at("event").get<std::size_t>();
    if (event.at("name") == "make a place") {
      places.insert(number);
      continue;
    }
    EXPECT_EQ(event.at("name"), "work");
    (event.at("pid") == 1 ? on_threads : on_slots).insert(number);
  }
  EXPECT_EQ(places.size(), totals.devices[0].places);
  EXPECT_EQ(on_threads.size(), 5U);
  EXPECT_EQ(on_slots.size(), 5U);
}

TEST(Trace, HasTheMemoryOfTheDeviceAfterEachEvent) {
  Numbers numbers(3);
  const auto memory = numbers.graph.data<Buffer>("memory");
  numbers.graph.module("work", reads(numbers.number), writes(memory), [&](EventView event) {
    event.write(memory) = Buffer(event.device(), 1 << 20);
  });
  Trace trace;
  numbers.graph.run({.in_flight = 1, .trace = &trace});
  const auto json = nlohmann::json::parse(trace.to_json());
  std::size_t samples = 0;
  for (const auto& event : json.at("traceEvents")) {
    if (event.at("ph") != "C") continue;
    ++samples;
    EXPECT_EQ(event.at("name"), "cpu");
    EXPECT_GE(event.at("args").at("bytes").get<std::size_t>(), std::size_t{1} << 20U);
  }
  EXPECT_EQ(samples, 3U);
}

}  // namespace
}  // namespace tensoa::sched
