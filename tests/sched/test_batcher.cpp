// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/sched/batcher.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tensoa/core/error.hpp"
#include "tensoa/sched/module_graph.hpp"
#include "timers.hpp"

namespace tensoa::sched {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Clock = std::chrono::steady_clock;

constexpr auto kLong = 1h;

struct Item {
  std::size_t number = 0;
  std::size_t rows = 1;
  std::size_t answer = 0;
};

/// A scheduler that a test steps, with a clock that a test moves.
class Stepped final : public Scheduler {
 public:
  void resume(Continuation task) noexcept override { tasks_.push_back(task); }
  void call_at(Clock::time_point when, std::function<void()> call) override {
    calls_.emplace(when, std::move(call));
  }
  /// Makes all calls that are due by then.
  void advance_to(Clock::time_point now) {
    while (!calls_.empty() && calls_.begin()->first <= now) {
      calls_.extract(calls_.begin()).mapped()();
    }
    run();
  }
  void run() {
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const Continuation task = tasks_[i];
      task();
    }
    tasks_.clear();
  }

 private:
  std::deque<Continuation> tasks_;
  std::multimap<Clock::time_point, std::function<void()>> calls_;
};

class BatcherTest : public testing::Test {
 protected:
  /// Answers with the number plus one. An item with the number `bad_` fails all of its batch.
  Batcher<Item>::Run run() {
    return [this](std::span<Item* const> batch) -> Task {
      std::vector<std::size_t> numbers;
      for (const Item* item : batch) numbers.push_back(item->number);
      batches_.push_back(numbers);
      if (std::ranges::count(numbers, bad_) > 0) throw DeviceError("cannot be done");
      for (Item* item : batch) item->answer = item->number + 1;
      co_return;
    };
  }

  void join(Batcher<Item>& batcher, std::size_t number, std::size_t rows = 1) {
    items_.push_back(std::make_unique<Item>(Item{number, rows}));
    const auto task = [](Batcher<Item>& to, Item& item) -> Task {
      co_await to.join(item, item.rows);
    };
    task(batcher, *items_.back()).start(scheduler_, [this, number](std::exception_ptr error) {
      (error ? failed_ : done_).push_back(number);
    });
  }

  std::size_t bad_ = 1'000;
  Stepped scheduler_;
  std::vector<std::unique_ptr<Item>> items_;
  std::vector<std::vector<std::size_t>> batches_;
  std::vector<std::size_t> done_;
  std::vector<std::size_t> failed_;
};

TEST_F(BatcherTest, RunsAsSoonAsItHasItsItems) {
  Batcher<Item> batcher({.items = 3, .latency = kLong}, run());
  for (const std::size_t number : {1U, 2U, 3U, 4U}) join(batcher, number);
  scheduler_.run();
  EXPECT_THAT(batches_, ElementsAre(ElementsAre(1, 2, 3)));
  EXPECT_THAT(done_, testing::UnorderedElementsAre(1, 2, 3));
  EXPECT_EQ(items_[1]->answer, 3U);
  EXPECT_EQ(batcher.counts().batches, 1U);
  EXPECT_EQ(batcher.counts().items, 3U);
  scheduler_.advance_to(Clock::now() + 2 * kLong);
  EXPECT_THAT(batches_.back(), ElementsAre(4));
}

TEST_F(BatcherTest, RunsAfterTheLatencyOfTheFirstItem) {
  Batcher<Item> batcher({.items = 100, .latency = 1min}, run());
  const auto begin = Clock::now();
  join(batcher, 1);
  join(batcher, 2);
  scheduler_.advance_to(begin + 59s);
  EXPECT_THAT(batches_, ElementsAre());
  join(batcher, 3);
  scheduler_.advance_to(Clock::now() + 61s);
  EXPECT_THAT(batches_, ElementsAre(ElementsAre(1, 2, 3)));
  EXPECT_EQ(done_.size(), 3U);
}

TEST_F(BatcherTest, HasNoMoreRowsThanItsLimitUnlessOneItemHas) {
  Batcher<Item> batcher({.rows = 10, .items = 100, .latency = kLong}, run());
  join(batcher, 1, 6);
  join(batcher, 2, 5);  // too many for the batch of 1
  scheduler_.run();
  EXPECT_THAT(batches_, ElementsAre(ElementsAre(1)));
  join(batcher, 3, 5);  // fills that of 2
  scheduler_.run();
  EXPECT_THAT(batches_, ElementsAre(ElementsAre(1), ElementsAre(2, 3)));
  join(batcher, 4, 99);
  scheduler_.run();
  EXPECT_THAT(batches_.back(), ElementsAre(4));
  EXPECT_EQ(done_.size(), 4U);
}

TEST_F(BatcherTest, OfNoLatencyOrInASchedulerWithoutAClockNeverWaits) {
  Batcher<Item> immediate({.items = 100, .latency = 0ns}, run());
  join(immediate, 1);
  EXPECT_THAT(done_, ElementsAre(1));

  class WithoutClock final : public Scheduler {
   public:
    void resume(Continuation) noexcept override { ADD_FAILURE(); }
  } plain;
  Batcher<Item> batcher({.items = 100, .latency = kLong}, run());
  Item item{2};
  bool is_done = false;
  batcher.join(item, 1).start(plain, [&](std::exception_ptr) { is_done = true; });
  EXPECT_TRUE(is_done);
  EXPECT_EQ(item.answer, 3U);
}

TEST_F(BatcherTest, AnItemThatFailsDoesNotLoseTheOthers) {
  Batcher<Item> batcher({.items = 4, .latency = kLong}, run());
  bad_ = 2;
  for (const std::size_t number : {1U, 2U, 3U, 4U}) join(batcher, number);
  scheduler_.run();
  EXPECT_THAT(failed_, ElementsAre(2));
  EXPECT_THAT(done_, testing::UnorderedElementsAre(1, 3, 4));
  EXPECT_EQ(batches_.size(), 5U);  // all, then each alone
  EXPECT_EQ(items_[3]->answer, 5U);
}

TEST_F(BatcherTest, AnItemAloneFailsOnce) {
  Batcher<Item> batcher({.items = 1, .latency = kLong}, run());
  bad_ = 7;
  join(batcher, 7);
  EXPECT_THAT(failed_, ElementsAre(7));
  EXPECT_EQ(batches_.size(), 1U);
}

TEST_F(BatcherTest, LimitsThatNothingCanKeepAreAnError) {
  for (const BatchLimits& limits :
       {BatchLimits{.rows = 0}, BatchLimits{.items = 0}, BatchLimits{.latency = -1ns}}) {
    EXPECT_THAT([&] { Batcher<Item>(limits, run()); },
                ThrowsMessage<ConfigError>(HasSubstr("expected at least 1 row, 1 item and 0 ns")));
  }
  EXPECT_THAT([&] { Batcher<Item>({}, nullptr); },
              ThrowsMessage<ConfigError>(HasSubstr("got no function")));
}

/// Runs events that all join one Batcher, in an arena of `threads`.
template <class Work>
RunTotals run_events_in(int threads, std::size_t events, std::size_t in_flight,
                        Batcher<Item>& batcher, const Work& work) {
  ModuleGraph graph;
  const auto item = graph.data<Item>("item");
  const auto answer = graph.data<std::size_t>("answer");
  graph.source(writes(item), [=, next = std::size_t{0}](EventView event) mutable {
    event.write(item) = {next, 1 + next % 5};
    return next++ < events;
  });
  graph.module("batch", reads(item), writes(answer), [=, &batcher](EventView event) -> Task {
    Item mine = event.read(item);
    co_await batcher.join(mine, mine.rows);
    event.write(answer) = mine.answer;
  });
  std::size_t next = 0;
  std::size_t failed = 0;
  graph.sink(
      "sink", reads(item, answer), Order::kInput,
      [&](EventView event) {
        work(event.read(item).number, event.read(answer));
        ++next;
      },
      [&](EventView, const EventFailure&) { ++failed; });
  const tbb::global_control enough(tbb::global_control::max_allowed_parallelism,
                                   static_cast<std::size_t>(threads));
  tbb::task_arena arena(threads);
  RunTotals totals = arena.execute([&] { return graph.run({.in_flight = in_flight}); });
  EXPECT_EQ(next + failed, events);
  return totals;
}

TEST(BatcherInARun, EveryEventGetsItsAnswerWhateverTheThreads) {
  for (const int threads : {1, 4}) {
    std::atomic<std::size_t> most = 0;
    Batcher<Item> batcher(
        {.rows = 12, .items = 6, .latency = 200us}, [&](std::span<Item* const> batch) -> Task {
          std::size_t rows = 0;
          for (Item* item : batch) {
            rows += item->rows;
            item->answer = 3 * item->number;
          }
          EXPECT_LE(rows, 12U);
          most = std::max(most.load(), batch.size());
          // As a GPU would do it: the task goes on elsewhere.
          static_cast<void>(co_await completed<int>([](auto completion) { completion(0); }));
        });
    const RunTotals totals = run_events_in(
        threads, 2'000, 16, batcher,
        [](std::size_t number, std::size_t answer) { ASSERT_EQ(answer, 3 * number); });
    EXPECT_EQ(totals.delivered, 2'000U);
    EXPECT_EQ(batcher.counts().items, 2'000U);
    EXPECT_GT(most.load(), 1U);
    EXPECT_LE(most.load(), 6U);
  }
}

TEST(BatcherInARun, OneThatFailsIsTheOnlyEventThatIsLost) {
  Batcher<Item> batcher({.items = 8, .latency = 100us}, [](std::span<Item* const> batch) -> Task {
    for (Item* item : batch) {
      if (item->number % 50 == 7) throw EngineError("the model refuses it");
      item->answer = item->number;
    }
    co_return;
  });
  const RunTotals totals =
      run_events_in(4, 1'000, 16, batcher, [](std::size_t number, std::size_t answer) {
        ASSERT_EQ(number, answer);
        ASSERT_NE(number % 50, 7U);
      });
  EXPECT_EQ(totals.failed, 20U);
  EXPECT_EQ(totals.delivered, 980U);
}

TEST(BatcherInARun, TheLastEventsDoNotWaitForOthersLongerThanTheLatency) {
  Batcher<Item> batcher({.items = 1'000, .latency = 20ms},
                        [](std::span<Item* const>) -> Task { co_return; });
  const auto begin = Clock::now();
  const RunTotals totals = run_events_in(2, 5, 5, batcher, [](std::size_t, std::size_t) {});
  const auto took = Clock::now() - begin;
  EXPECT_EQ(totals.delivered, 5U);
  EXPECT_GE(took, 20ms);
  EXPECT_LT(took, 5s);  // a machine under load
  EXPECT_EQ(batcher.counts().batches, 1U);
}

struct Inference {
  std::size_t number = 0;
  std::size_t answer = 0;
};

TEST(BatcherInARun, IsUsedAsThePageShows) {
  constexpr std::size_t kInFlight = 8;
  std::atomic<std::size_t> calls = 0;
  ModuleGraph graph;
  const auto number = graph.data<std::size_t>("number");
  const auto answer = graph.data<std::size_t>("answer");
  graph.source(writes(number), [=](EventView event) {
    event.write(number) = event.number();
    return event.number() < 100;
  });
  // [batcher]
  Batcher<Inference> batcher({.rows = 4'096, .items = kInFlight, .latency = 200us},
                             [&](std::span<Inference* const> batch) -> Task {
                               ++calls;
                               for (Inference* one : batch) one->answer = 2 * one->number;
                               co_return;
                             });
  graph.module("infer", reads(number), writes(answer), [=, &batcher](EventView event) -> Task {
    Inference mine{event.read(number), 0};
    co_await batcher.join(mine, 1);
    event.write(answer) = mine.answer;
  });
  // [/batcher]
  std::size_t sum = 0;
  graph.sink("sum", reads(answer), Order::kInput,
             [&](EventView event) { sum += event.read(answer); });
  EXPECT_EQ(graph.run({.in_flight = kInFlight}).delivered, 100U);
  EXPECT_EQ(sum, 9'900U);
  EXPECT_LT(calls.load(), 100U);
}

TEST(Timers, CallWhatIsDueInItsOrder) {
  detail::Timers timers;
  std::vector<int> called;
  const auto now = Clock::now();
  EXPECT_FALSE(timers.call_due());
  timers.add(now + 1h, [&] { called.push_back(3); });
  timers.add(now - 1s, [&] { called.push_back(2); });
  timers.add(now - 2s, [&] { called.push_back(1); });
  EXPECT_TRUE(timers.call_due());
  EXPECT_THAT(called, ElementsAre(1, 2));
  EXPECT_TRUE(timers.call_due());
  EXPECT_THAT(called, ElementsAre(1, 2));
}

}  // namespace
}  // namespace tensoa::sched
