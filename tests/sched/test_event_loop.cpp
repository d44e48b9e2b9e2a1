// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/sched/event_loop.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tensoa/core/error.hpp"

namespace tensoa::sched {
namespace {

using testing::HasSubstr;
using testing::Throws;
using testing::ThrowsMessage;

constexpr std::size_t kEvents = 200;
constexpr int kThreads = 4;
constexpr int kInFlight = 8;

void ignore_work(std::size_t, std::size_t) {}
void ignore_finish(std::size_t) {}

/// Takes longer for some events than for others.
void dawdle(std::size_t event) {
  std::this_thread::sleep_for(std::chrono::microseconds(100 * (7 * event % 5)));
}

TEST(RunEvents, FinishesAllInOrderEachAfterItsWork) {
  std::array<std::atomic<bool>, kEvents> worked{};
  std::vector<std::size_t> finished;  // no lock: finish is never called two at a time
  run_events(
      kEvents, kThreads, kInFlight,
      [&](std::size_t event, std::size_t) {
        dawdle(event);
        EXPECT_FALSE(worked[event].exchange(true)) << "called once for each event";
      },
      [&](std::size_t event) {
        EXPECT_TRUE(worked[event]);
        finished.push_back(event);
      });
  std::vector<std::size_t> expected(kEvents);
  std::iota(expected.begin(), expected.end(), std::size_t{0});
  EXPECT_EQ(finished, expected);
}

TEST(RunEvents, GivesASlotToOneEventAtATime) {
  std::array<std::atomic<bool>, kThreads> busy{};
  run_events(
      kEvents, kThreads, kInFlight,
      [&](std::size_t event, std::size_t slot) {
        ASSERT_LT(slot, busy.size());
        EXPECT_FALSE(busy[slot].exchange(true));
        dawdle(event);
        busy[slot] = false;
      },
      ignore_finish);
}

TEST(RunEvents, GivesASlotToOneEventAtATimeWhereTheWorkIsParallelItself) {
  std::array<std::atomic<bool>, kThreads> busy{};
  run_events(
      kEvents, kThreads, kInFlight,
      [&](std::size_t, std::size_t slot) {
        EXPECT_FALSE(busy[slot].exchange(true)) << "a waiting thread took another event";
        tbb::parallel_for(0, 16, [](int i) { dawdle(static_cast<std::size_t>(i)); });
        busy[slot] = false;
      },
      ignore_finish);
}

TEST(RunEvents, HasAtMostSoManyEventsInFlight) {
  std::atomic<int> in_flight = 0;
  run_events(
      kEvents, kThreads, kInFlight,
      [&](std::size_t event, std::size_t) {
        EXPECT_LE(++in_flight, kInFlight);
        dawdle(event);
      },
      [&](std::size_t) { --in_flight; });
}

TEST(RunEvents, OfNoEventsCallsNothing) {
  run_events(
      0, kThreads, kInFlight, [](std::size_t, std::size_t) { FAIL(); },
      [](std::size_t) { FAIL(); });
}

TEST(RunEvents, WithOneThreadRunsInTheCallingThread) {
  const std::thread::id here = std::this_thread::get_id();
  std::size_t worked = 0;
  std::size_t finished = 0;
  run_events(
      kEvents, 1, 2,
      [&](std::size_t, std::size_t slot) {
        EXPECT_EQ(slot, 0U);
        EXPECT_EQ(std::this_thread::get_id(), here);
        ++worked;
      },
      [&](std::size_t) {
        EXPECT_EQ(std::this_thread::get_id(), here);
        ++finished;
      });
  EXPECT_EQ(worked, kEvents);
  EXPECT_EQ(finished, kEvents);
}

TEST(RunEvents, AnExceptionOfACallbackEndsTheLoopAndPasses) {
  std::vector<std::size_t> finished;
  const auto failing_work = [&] {
    run_events(
        kEvents, kThreads, kInFlight,
        [](std::size_t event, std::size_t) {
          if (event == 50) throw InputError("event 50 is broken");
        },
        [&](std::size_t event) { finished.push_back(event); });
  };
  EXPECT_THAT(failing_work, ThrowsMessage<InputError>("event 50 is broken"));
  EXPECT_TRUE(std::is_sorted(finished.begin(), finished.end()));
  EXPECT_LE(finished.size(), 50U) << "nothing finishes after an event that did not";

  const auto failing_finish = [&] {
    run_events(kEvents, kThreads, kInFlight, ignore_work, [](std::size_t event) {
      if (event == 3) throw std::logic_error("not ours");
    });
  };
  EXPECT_THAT(failing_finish, Throws<std::logic_error>());
}

TEST(RunEvents, WithFewerEventsInFlightThanThreadsIsAnError) {
  EXPECT_THAT([] { run_events(1, 3, 2, ignore_work, ignore_finish); },
              ThrowsMessage<ConfigError>(HasSubstr("got 2 events in flight; expected 3 or more")));
}

TEST(RunEvents, WithoutThreadsIsAnError) {
  for (const int threads : {0, -3}) {
    EXPECT_THAT([&] { run_events(1, threads, 8, ignore_work, ignore_finish); },
                ThrowsMessage<ConfigError>(HasSubstr("expected 1 or more")));
  }
}

}  // namespace
}  // namespace tensoa::sched
