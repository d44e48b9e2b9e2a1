// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/sched/queue_pool.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"

namespace tensoa::sched {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// On the CPU, and on a GPU where there is one.
class QueuePoolTest : public testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    if (GetParam().index >= device_count(GetParam().kind)) GTEST_SKIP() << "no CUDA device";
  }
};

INSTANTIATE_TEST_SUITE_P(Devices, QueuePoolTest, testing::Values(Device::cpu(), Device::cuda(0)),
                         [](const auto& each) { return each.param.is_cpu() ? "cpu" : "cuda"; });

TEST_P(QueuePoolTest, LendsEachQueueOnceAndSaysWhenThereIsNone) {
  QueuePool pool(GetParam(), 3);
  EXPECT_EQ(pool.size(), 3U);
  EXPECT_EQ(pool.device(), GetParam());
  std::vector<QueuePool::Loan> loans;
  std::set<const Queue*> seen;
  for (int i = 0; i < 3; ++i) {
    loans.push_back(pool.take());
    seen.insert(&*loans.back());
    EXPECT_EQ(loans.back()->device(), GetParam());
  }
  EXPECT_EQ(seen.size(), 3U);
  EXPECT_FALSE(pool.try_take());
  loans.pop_back();
  EXPECT_TRUE(pool.try_take());
}

TEST_P(QueuePoolTest, TakeWaitsForAQueueToBeGivenBack) {
  QueuePool pool(GetParam(), 1);
  std::optional<QueuePool::Loan> mine = pool.take();
  std::atomic<bool> has_queue = false;
  std::jthread other([&] {
    const QueuePool::Loan loan = pool.take();
    has_queue = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(has_queue);
  mine.reset();
  other.join();
  EXPECT_TRUE(has_queue);
}

TEST_P(QueuePoolTest, GivesAThreadTheQueueThatItHadLast) {
  QueuePool pool(GetParam(), 2);
  const Queue* mine = &*pool.take();
  const Queue* others = nullptr;
  std::thread([&] { others = &*pool.take(); }).join();
  EXPECT_NE(others, mine) << "that of another thread comes last";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(&*pool.take(), mine);
}

TEST_P(QueuePoolTest, ALoanMovesAndIsGivenBackOnce) {
  QueuePool pool(GetParam(), 2);
  QueuePool::Loan first = pool.take();
  const Queue* const queue = &*first;
  QueuePool::Loan second = std::move(first);
  EXPECT_EQ(&*second, queue);
  second = pool.take();
  EXPECT_NE(&*second, queue);
  const QueuePool::Loan third = pool.take();
  EXPECT_EQ(&*third, queue) << "assignment gave it back";
  EXPECT_FALSE(pool.try_take());
}

TEST_P(QueuePoolTest, ALoanMayOutliveThePool) {
  std::optional<QueuePool> pool(std::in_place, GetParam(), 1U);
  const QueuePool::Loan loan = pool->take();
  pool.reset();
  loan->wait();
}

TEST_P(QueuePoolTest, ThatWasMovedFromLendsTheSameQueues) {
  QueuePool pool(GetParam(), 1);
  QueuePool moved = std::move(pool);
  QueuePool copy(GetParam(), 3);
  copy = std::move(moved);
  // NOLINTBEGIN(bugprone-use-after-move): what this is about
  for (QueuePool* each : {&pool, &moved, &copy}) {
    EXPECT_EQ(each->size(), 1U);
    EXPECT_EQ(each->device(), GetParam());
    const QueuePool::Loan loan = each->take();
    EXPECT_FALSE(pool.try_take());
  }
  // NOLINTEND(bugprone-use-after-move)
}

TEST_P(QueuePoolTest, NoTwoThreadsHaveOneQueue) {
  QueuePool pool(GetParam(), 3);
  std::mutex mutex;
  std::multiset<const Queue*> taken;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int call = 0; call < 1000; ++call) {
        const QueuePool::Loan loan = pool.take();
        {
          const std::lock_guard lock(mutex);
          taken.insert(&*loan);
          ASSERT_EQ(taken.count(&*loan), 1U);
          ASSERT_LE(taken.size(), 3U);
        }
        const std::lock_guard lock(mutex);
        taken.erase(&*loan);
      }
    });
  }
}

TEST(QueuePool, OfNoQueuesOrOfADeviceThatIsNotThereIsAnError) {
  EXPECT_THAT([] { QueuePool(Device::cpu(), 0); },
              ThrowsMessage<ConfigError>(HasSubstr("of cpu: got 0 queues, expected 1 or more")));
  EXPECT_THROW(QueuePool(Device::cuda(99), 1), DeviceError);
}

}  // namespace
}  // namespace tensoa::sched
