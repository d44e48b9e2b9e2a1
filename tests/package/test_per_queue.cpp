// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/package/impl/per_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace tensoa::package {
namespace {

class PerQueueTest : public testing::Test {
 protected:
  using Pool = PerQueue<int>;

  std::unique_ptr<int> make() {
    ++made_;
    return std::make_unique<int>(0);
  }
  Pool::Loan borrow() {
    return Pool::Loan(pool_, queue_, [this] { return make(); });
  }

  const Queue queue_{Device::cpu()};
  Pool pool_;
  std::atomic<int> made_ = 0;
};

TEST_F(PerQueueTest, TheNextCallFindsWhatTheLastOneUsed) {
  for (int call = 0; call < 3; ++call) ++*borrow();
  EXPECT_EQ(*borrow(), 3);
  EXPECT_EQ(made_, 1);
}

TEST_F(PerQueueTest, CallsAtTheSameTimeHaveOneEach) {
  {
    const Pool::Loan first = borrow();
    const Pool::Loan second = borrow();
    EXPECT_NE(&*first, &*second);
  }
  const Pool::Loan again = borrow();
  EXPECT_EQ(made_, 2);
}

TEST_F(PerQueueTest, WhatWasAddedIsForTheFirstThatComes) {
  pool_.add(std::make_unique<int>(7));
  EXPECT_EQ(*borrow(), 7);
  EXPECT_EQ(made_, 0);
}

TEST_F(PerQueueTest, NoTwoThreadsHaveTheSame) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this] {
      for (int call = 0; call < 10'000; ++call) {
        const Pool::Loan mine = borrow();
        ASSERT_EQ(++*mine, 1);
        --*mine;
      }
    });
  }
  threads.clear();
  EXPECT_LE(made_, 8);
}

TEST_F(PerQueueTest, WhatIsNotNeededIsNotTaken) {
  Pool::LoanWhenNeeded first(pool_, queue_);
  Pool::LoanWhenNeeded second(pool_, queue_);
  { Pool::LoanWhenNeeded needs_nothing(pool_, queue_); }
  *second = 2;
  *first = 1;
  EXPECT_EQ(*second, 2) << "taken once, and not what another call has";
}

TEST_F(PerQueueTest, WhatWasNeededIsFoundByTheNextCall) {
  for (int call = 0; call < 3; ++call) {
    Pool::LoanWhenNeeded loan(pool_, queue_);
    EXPECT_EQ(*loan, call);
    ++*loan;
    EXPECT_EQ(*loan, call + 1);
  }
}

/// An engine gives memory back while a call ends by an exception, and where there is no memory left.
static_assert(std::is_nothrow_destructible_v<PerQueue<int>::LoanWhenNeeded>);

TEST_F(PerQueueTest, EveryStreamHasItsOwn) {
  if (device_count(DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
  const Queue first(Device::cuda(0));
  const Queue second(Device::cuda(0));
  const auto object_of = [this](const Queue& queue) {
    return &*Pool::Loan(pool_, queue, [this] { return make(); });
  };
  const int* const object = object_of(first);
  EXPECT_NE(object_of(second), object);
  EXPECT_EQ(object_of(first), object);
}

}  // namespace
}  // namespace tensoa::package
