// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/sched/task.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tensoa/core/error.hpp"
#include "tensoa/sched/impl/continuation_list.hpp"

namespace tensoa::sched {
namespace {

// [scheduler]
/// A scheduler of a framework: tasks that continue wait in a queue until step().
class QueueOfTasks final : public Scheduler {
 public:
  void resume(Continuation task) noexcept override { tasks_.push_back(task); }
  bool step() {
    if (tasks_.empty()) return false;
    const Continuation task = tasks_.front();
    tasks_.pop_front();
    task();
    return true;
  }

 private:
  std::deque<Continuation> tasks_;
};
// [/scheduler]

/// Ends when a test says so.
struct Call {
  auto start() {
    return [this](auto completion) {
      finish = [completion](Result<int> result) mutable { completion(std::move(result)); };
    };
  }
  std::function<void(Result<int>)> finish;
};

Task add_to(std::vector<std::string>& log, std::string text) {
  log.push_back(std::move(text));
  co_return;
}

// [module]
Task wait_for(Call& call, std::vector<std::string>& log) {
  log.emplace_back("before");
  const Result<int> result = co_await completed<int>(call.start());
  log.emplace_back(result ? "got " + std::to_string(*result) : result.message());
}
// [/module]

struct Ended {
  std::function<void(std::exception_ptr)> call() {
    return [this](std::exception_ptr error) {
      ++times;
      failure = std::move(error);
    };
  }
  int times = 0;
  std::exception_ptr failure;
};

TEST(Task, BeginsWhenItIsStartedAndSaysThatItEnded) {
  QueueOfTasks scheduler;
  std::vector<std::string> log;
  Ended ended;
  Task task = add_to(log, "ran");
  EXPECT_TRUE(log.empty());
  std::move(task).start(scheduler, ended.call());
  EXPECT_EQ(log, std::vector<std::string>{"ran"});
  EXPECT_EQ(ended.times, 1);
  EXPECT_FALSE(ended.failure);
}

TEST(Task, ThatIsNeverStartedFreesItsParameters) {
  const auto kept = std::make_shared<int>(1);
  {
    const auto hold = [](std::shared_ptr<int> parameter) -> Task {
      *parameter = 2;
      co_return;
    };
    const Task task = hold(kept);
    EXPECT_EQ(kept.use_count(), 2);
  }
  EXPECT_EQ(kept.use_count(), 1);
  EXPECT_EQ(*kept, 1);
}

TEST(Task, ContinuesWhereItsSchedulerSaysOnceTheCallIsComplete) {
  QueueOfTasks scheduler;
  std::vector<std::string> log;
  Ended ended;
  Call call;
  wait_for(call, log).start(scheduler, ended.call());
  EXPECT_FALSE(scheduler.step());
  call.finish(7);
  EXPECT_EQ(log, std::vector<std::string>{"before"})
      << "it must not run in the thread that completes";
  EXPECT_TRUE(scheduler.step());
  EXPECT_EQ(log, (std::vector<std::string>{"before", "got 7"}));
  EXPECT_EQ(ended.times, 1);
}

TEST(Task, GetsTheErrorOfACallAsAResult) {
  QueueOfTasks scheduler;
  std::vector<std::string> log;
  Ended ended;
  Call call;
  wait_for(call, log).start(scheduler, ended.call());
  call.finish(Result<int>::failure(DeviceError("no more")));
  scheduler.step();
  EXPECT_EQ(log.back(), "no more");
  EXPECT_FALSE(ended.failure);
}

TEST(Task, DoesNotWaitForACallThatCompletesImmediatelyNorForACpuQueue) {
  QueueOfTasks scheduler;
  Ended ended;
  int got = 0;
  const auto work = [&]() -> Task {
    got = (co_await completed<int>([](auto completion) { completion(Result<int>(3)); })).value();
    co_await done(Queue(Device::cpu()));
    ++got;
  };
  work().start(scheduler, ended.call());
  EXPECT_EQ(got, 4);
  EXPECT_EQ(ended.times, 1);
}

TEST(Task, AwaitsAnotherTaskAndGetsWhatItThrows) {
  QueueOfTasks scheduler;
  std::vector<std::string> log;
  Ended ended;
  Call call;
  const auto inner = [&]() -> Task {
    co_await wait_for(call, log);
    throw InputError("inner");
  };
  const auto outer = [&]() -> Task {
    try {
      co_await inner();
    } catch (const InputError& error) {
      log.emplace_back(error.what());
    }
    co_await add_to(log, "after");
  };
  outer().start(scheduler, ended.call());
  call.finish(1);
  EXPECT_TRUE(scheduler.step());
  EXPECT_EQ(log, (std::vector<std::string>{"before", "got 1", "inner", "after"}));
  EXPECT_FALSE(ended.failure);
}

TEST(Task, SaysWhatItThrewAndIsGoneByThen) {
  QueueOfTasks scheduler;
  const auto kept = std::make_shared<int>(1);
  std::exception_ptr failure;
  const auto work = [](std::shared_ptr<int>) -> Task {
    throw std::logic_error("bad");
    co_return;
  };
  work(kept).start(scheduler, [&](std::exception_ptr error) {
    failure = std::move(error);
    EXPECT_EQ(kept.use_count(), 1);
  });
  EXPECT_THROW(std::rethrow_exception(failure), std::logic_error);
}

TEST(Task, ThrowsWhatTheStartOfACallThrows) {
  QueueOfTasks scheduler;
  Ended ended;
  const auto work = []() -> Task {
    static_cast<void>(co_await completed<int>([](auto) { throw ConfigError("no such plan"); }));
  };
  work().start(scheduler, ended.call());
  EXPECT_EQ(ended.times, 1);
  EXPECT_THROW(std::rethrow_exception(ended.failure), ConfigError);
}

TEST(ContinuationList, GivesTheOldestFirst) {
  QueueOfTasks scheduler;
  Ended ended;
  std::vector<std::string> log;
  Call calls[3];
  class Lists final : public Scheduler {
   public:
    void resume(Continuation task) noexcept override { list.push(task); }
    ContinuationList list;
  } lists;
  for (Call& call : calls) wait_for(call, log).start(lists, ended.call());
  EXPECT_TRUE(lists.list.is_empty());
  for (int number : {1, 2, 0}) calls[number].finish(number);
  lists.list.take([](Continuation task) { task(); });
  EXPECT_TRUE(lists.list.is_empty());
  EXPECT_EQ(std::vector<std::string>(log.begin() + 3, log.end()),
            (std::vector<std::string>{"got 1", "got 2", "got 0"}));
}

}  // namespace
}  // namespace tensoa::sched
