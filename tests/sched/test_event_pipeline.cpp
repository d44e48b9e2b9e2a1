// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/sched/event_pipeline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sched/event_sources.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::sched {
namespace {

using test::first_events;
using test::in_arena;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::ThrowsMessage;

constexpr std::size_t kEvents = 200;
constexpr int kThreads = 4;
constexpr std::size_t kInFlight = 8;

/// Takes longer for some events than for others.
std::size_t dawdle(std::size_t event) {
  std::this_thread::sleep_for(std::chrono::microseconds(100 * (7 * event % 5)));
  return event;
}

std::size_t dawdle_in_slot(std::size_t event, std::size_t) { return dawdle(event); }
void ignore(std::size_t, const Result<std::size_t>&) {}

std::vector<std::size_t> numbers_below(std::size_t n) {
  std::vector<std::size_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

/// run_events() on an arena of kThreads.
template <class Source, class Work, class Sink>
EventTotals run(Source&& source, Work&& work, Sink&& sink, const EventOptions& options = {}) {
  return in_arena(kThreads, [&] { return run_events(source, work, sink, options); });
}

TEST(RunEvents, GivesEachResultToTheSinkInTheOrderOfTheSource) {
  std::array<std::atomic<bool>, kEvents> worked{};
  std::vector<std::size_t> delivered;  // no lock: the sink is never called by two threads at a time
  const EventTotals totals = run(
      first_events(kEvents),
      [&](std::size_t event, std::size_t) {
        dawdle(event);
        EXPECT_FALSE(worked[event].exchange(true)) << "called once for each event";
        return 3 * event;
      },
      [&](std::size_t event, const Result<std::size_t>& result) {
        EXPECT_EQ(result.value(), 3 * event);
        delivered.push_back(event);
      });
  EXPECT_EQ(delivered, numbers_below(kEvents));
  EXPECT_EQ(totals.delivered, kEvents);
  EXPECT_EQ(totals.failed, 0U);
  EXPECT_FALSE(totals.is_stopped);
}

/// In order the first event would make the second wait; here it waits for its delivery.
TEST(RunEvents, GivesResultsAsTheyAreDoneWhereTheOrderIsThatOfCompletion) {
  std::atomic<bool> is_second_delivered = false;
  std::vector<std::size_t> delivered;
  run(
      first_events(2),
      [&](std::size_t event, std::size_t) {
        while (event == 0 && !is_second_delivered) std::this_thread::yield();
        return event;
      },
      [&](std::size_t event, const Result<std::size_t>&) {
        delivered.push_back(event);
        if (event == 1) is_second_delivered = true;
      },
      {.order = Order::kCompletion});
  EXPECT_EQ(delivered, (std::vector<std::size_t>{1, 0}));
}

TEST(RunEvents, DeliversAllOnceWhereTheOrderIsThatOfCompletion) {
  std::vector<std::size_t> delivered;
  run(first_events(kEvents), dawdle_in_slot,
      [&](std::size_t event, const Result<std::size_t>&) { delivered.push_back(event); },
      {.in_flight = kInFlight, .order = Order::kCompletion});
  std::ranges::sort(delivered);
  EXPECT_EQ(delivered, numbers_below(kEvents));
}

TEST(RunEvents, MovesEventsAndValuesThatCannotBeCopied) {
  std::size_t next = 0;
  std::size_t sum = 0;
  run(
      [&]() -> std::optional<std::unique_ptr<std::size_t>> {
        if (next == kEvents) return {};
        return std::make_unique<std::size_t>(next++);
      },
      [](std::unique_ptr<std::size_t>& event, std::size_t) { return std::move(event); },
      [&](const std::unique_ptr<std::size_t>& event, Result<std::unique_ptr<std::size_t>> result) {
        EXPECT_EQ(event, nullptr);
        sum += *std::move(result).value();
      });
  EXPECT_EQ(sum, kEvents * (kEvents - 1) / 2);
}

TEST(RunEvents, GivesASlotToOneEventAtATime) {
  std::array<std::atomic<bool>, kThreads> busy{};
  run(first_events(kEvents),
      [&](std::size_t event, std::size_t slot) {
        EXPECT_FALSE(busy.at(slot).exchange(true));
        dawdle(event);
        busy.at(slot) = false;
        return event;
      },
      ignore, {.in_flight = kInFlight});
}

TEST(RunEvents, GivesASlotToOneEventAtATimeWhereTheWorkIsParallelItself) {
  std::array<std::atomic<bool>, kThreads> busy{};
  run(first_events(kEvents),
      [&](std::size_t event, std::size_t slot) {
        EXPECT_FALSE(busy.at(slot).exchange(true)) << "a waiting thread took another event";
        tbb::parallel_for(0, 16, [](int i) { dawdle(static_cast<std::size_t>(i)); });
        busy.at(slot) = false;
        return event;
      },
      ignore, {.in_flight = kInFlight});
}

/// Each event counts itself for as long as it is there, wherever run_events() keeps it.
TEST(RunEvents, HoldsAtMostTheGivenNumberOfEvents) {
  for (const Order order : {Order::kInput, Order::kCompletion}) {
    std::size_t next = 0;
    std::atomic<std::size_t> most = 0;
    const auto alive = std::make_shared<int>();
    const auto count = [&] {
      const auto now = static_cast<std::size_t>(alive.use_count() - 1);
      std::size_t before = most;
      while (before < now && !most.compare_exchange_weak(before, now)) {
      }
    };
    run(
        [&]() -> std::optional<std::pair<std::size_t, std::shared_ptr<int>>> {
          if (next == kEvents) return {};
          return std::pair{next++, alive};
        },
        [&](const std::pair<std::size_t, std::shared_ptr<int>>& event, std::size_t) {
          const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
          do {  // until another event is there, too
            count();
            std::this_thread::yield();
          } while (most < 2 && std::chrono::steady_clock::now() < deadline);
          return dawdle(event.first);
        },
        [](const auto&, const Result<std::size_t>&) {}, {.in_flight = 3, .order = order});
    EXPECT_LE(most, 3U);
    EXPECT_GE(most, 2U) << "nothing ran at the same time";
    EXPECT_EQ(alive.use_count(), 1) << "an event is kept";
  }
}

TEST(RunEvents, TakesTwoEventsForEachThreadWhereNothingIsSaid) {
  // Event 0 waits for the last one that can be taken while it is in flight.
  std::atomic<std::size_t> taken = 0;
  run(
      [&]() -> std::optional<std::size_t> {
        if (taken == kEvents) return {};
        return taken++;
      },
      [&](std::size_t event, std::size_t) {
        while (event == 0 && taken < 2U * kThreads) std::this_thread::yield();
        EXPECT_LE(taken, event + 2U * kThreads);
        return event;
      },
      ignore);
  EXPECT_EQ(taken, kEvents);
}

TEST(RunEvents, OfNoEventsCallsNothing) {
  const EventTotals totals = run(
      first_events(0),
      [](std::size_t, std::size_t) -> std::size_t { throw std::logic_error("work"); },
      [](std::size_t, const Result<std::size_t>&) { FAIL(); });
  EXPECT_EQ(totals.delivered, 0U);
}

// ---- the arena of the caller

TEST(RunEvents, WorksInTheArenaOfTheCallerWhichBoundsItsConcurrency) {
  std::atomic<int> working = 0;
  std::set<int> places;
  std::mutex mutex;
  in_arena(2, [&] {
    return run_events(first_events(kEvents),
                      [&](std::size_t event, std::size_t) {
                        EXPECT_LE(++working, 2);
                        EXPECT_EQ(tbb::this_task_arena::max_concurrency(), 2);
                        {
                          const std::lock_guard lock(mutex);
                          places.insert(tbb::this_task_arena::current_thread_index());
                        }
                        dawdle(event);
                        --working;
                        return event;
                      },
                      ignore, {.in_flight = kInFlight});
  });
  EXPECT_THAT((std::set{0, 1}), IsSupersetOf(places)) << "threads of another arena";
}

TEST(RunEvents, InAnArenaOfOneThreadRunsInTheCallingThread) {
  const std::thread::id here = std::this_thread::get_id();
  std::size_t delivered = 0;
  in_arena(1, [&] {
    return run_events(
        first_events(kEvents),
        [&](std::size_t event, std::size_t slot) {
          EXPECT_EQ(slot, 0U);
          EXPECT_EQ(std::this_thread::get_id(), here);
          return event;
        },
        [&](std::size_t, const Result<std::size_t>&) {
          EXPECT_EQ(std::this_thread::get_id(), here);
          ++delivered;
        });
  });
  EXPECT_EQ(delivered, kEvents);
}

TEST(RunEvents, RunsInsideOtherWorkOfTheArena) {
  std::atomic<std::size_t> delivered = 0;
  in_arena(kThreads, [&] {
    tbb::parallel_for(0, 3, [&](int) {
      delivered += run_events(first_events(20), dawdle_in_slot, ignore).delivered;
    });
  });
  EXPECT_EQ(delivered, 60U);
}

// ---- failures

TEST(RunEvents, AnErrorIsTheResultOfItsEventAndTheOthersHaveTheirs) {
  std::vector<std::size_t> right;
  std::vector<std::string> wrong;
  const EventTotals totals = run(
      first_events(kEvents),
      [](std::size_t event, std::size_t) {
        if (event % 50 == 7) throw InputError("event " + std::to_string(event) + " is broken");
        return dawdle(event);
      },
      [&](std::size_t event, const Result<std::size_t>& result) {
        if (result) {
          EXPECT_EQ(*result, event);
          right.push_back(event);
        } else {
          EXPECT_THROW(static_cast<void>(result.value()), InputError);
          wrong.emplace_back(result.message());
        }
      });
  EXPECT_EQ(right.size(), kEvents - 4);
  EXPECT_EQ(wrong, (std::vector<std::string>{"event 7 is broken", "event 57 is broken",
                                             "event 107 is broken", "event 157 is broken"}));
  EXPECT_EQ(totals.delivered, kEvents);
  EXPECT_EQ(totals.failed, 4U);
}

TEST(RunEvents, AnEventForWhichThereIsNoMemoryFailsAlone) {
  const EventTotals totals = run(
      first_events(10),
      [](std::size_t event, std::size_t) {
        if (event == 3) throw std::bad_alloc();
        return event;
      },
      [](std::size_t event, const Result<std::size_t>& result) {
        EXPECT_EQ(result.has_value(), event != 3);
        if (result) return;
        EXPECT_THROW(static_cast<void>(result.value()), DeviceFullError);
        EXPECT_THAT(result.message(), HasSubstr("not enough memory for this event"));
      });
  EXPECT_EQ(totals.failed, 1U);
}

TEST(RunEvents, EndsAtTheFirstFailureWhereTheSinkRequestsAStop) {
  std::stop_source stop;
  std::size_t delivered = 0;
  const EventTotals totals = run(
      first_events(kEvents),
      [](std::size_t event, std::size_t) {
        if (event == 20) throw InputError("broken");
        return dawdle(event);
      },
      [&](std::size_t, const Result<std::size_t>& result) {
        ++delivered;
        if (!result) stop.request_stop();
      },
      {.in_flight = kInFlight, .stop = stop.get_token()});
  EXPECT_TRUE(totals.is_stopped);
  EXPECT_EQ(totals.failed, 1U);
  EXPECT_GT(delivered, 20U);
  EXPECT_LE(delivered, 20U + kInFlight) << "more than were in flight";
  EXPECT_EQ(totals.delivered, delivered);
}

TEST(RunEvents, StoppedFromOutsideDeliversWhatIsInFlight) {
  std::stop_source stop;
  std::size_t taken = 0;
  std::size_t delivered = 0;
  const EventTotals totals =
      run([&]() -> std::optional<std::size_t> { return taken++; },  // has no end
          [&](std::size_t event, std::size_t) {
            if (event == 50) stop.request_stop();
            return dawdle(event);
          },
          [&](std::size_t event, const Result<std::size_t>&) { EXPECT_EQ(event, delivered++); },
          {.stop = stop.get_token()});
  EXPECT_TRUE(totals.is_stopped);
  EXPECT_GT(delivered, 50U);
  EXPECT_EQ(delivered, taken) << "an event was lost";
}

TEST(RunEvents, StoppedBeforeItStartsTakesNothing) {
  std::stop_source stop;
  stop.request_stop();
  const EventTotals totals =
      run([]() -> std::optional<std::size_t> { throw std::logic_error("source"); }, dawdle_in_slot,
          ignore, {.stop = stop.get_token()});
  EXPECT_TRUE(totals.is_stopped);
  EXPECT_EQ(totals.delivered, 0U);
}

TEST(RunEvents, ASourceThatThrowsEndsTheRunAfterWhatIsInFlight) {
  std::size_t next = 0;
  std::vector<std::size_t> delivered;
  const auto failing = [&] {
    run(
        [&]() -> std::optional<std::size_t> {
          if (next == 60) throw InputError("the list of files is broken");
          return next++;
        },
        dawdle_in_slot,
        [&](std::size_t event, const Result<std::size_t>&) { delivered.push_back(event); });
  };
  EXPECT_THAT(failing, ThrowsMessage<InputError>("the list of files is broken"));
  EXPECT_EQ(delivered, numbers_below(60));
}

TEST(RunEvents, AnExceptionThatIsNotAnErrorEndsTheRunAfterWhatIsInFlight) {
  std::size_t taken = 0;
  std::vector<std::size_t> delivered;
  const auto failing = [&] {
    run([&]() -> std::optional<std::size_t> { return taken++; },  // has no end
        [](std::size_t event, std::size_t) {
          if (event == 50) throw std::logic_error("not ours");
          return dawdle(event);
        },
        [&](std::size_t event, const Result<std::size_t>&) { delivered.push_back(event); });
  };
  EXPECT_THAT(failing, ThrowsMessage<std::logic_error>("not ours"));
  EXPECT_EQ(delivered.size(), taken - 1) << "all but the one that has no result";
  EXPECT_TRUE(std::ranges::is_sorted(delivered));
}

TEST(RunEvents, ASinkThatThrowsEndsTheRunAndIsNotCalledAgain) {
  std::vector<std::size_t> delivered;
  const auto failing = [&] {
    run(first_events(kEvents), dawdle_in_slot, [&](std::size_t event, const Result<std::size_t>&) {
      delivered.push_back(event);
      if (event == 3) throw OutputError("the disk is full");
    });
  };
  EXPECT_THAT(failing, ThrowsMessage<OutputError>("the disk is full"));
  EXPECT_EQ(delivered, numbers_below(4));
}

/// A cancelled pipeline of oneTBB drops what is in flight.
TEST(RunEvents, ACancelledTaskGroupAroundItLosesNothing) {
  std::vector<std::size_t> delivered;
  in_arena(kThreads, [&] {
    tbb::task_group group;
    group.run_and_wait([&] {
      run_events(
          first_events(kEvents),
          [&](std::size_t event, std::size_t) {
            if (event == 10) group.cancel();
            return dawdle(event);
          },
          [&](std::size_t event, const Result<std::size_t>&) { delivered.push_back(event); });
    });
  });
  EXPECT_EQ(delivered, numbers_below(kEvents));
}

}  // namespace
}  // namespace tensoa::sched
