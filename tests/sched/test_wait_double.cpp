// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Events whose queues are blocked on purpose, and what becomes of those that wait when a device
// is lost.

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "sched/event_sources.hpp"
#include "support/device_double.hpp"
#include "support/sanitizers.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/sched/wait.hpp"

namespace tensoa::sched {
namespace {

using test::DeviceDouble;
using test::run_work;

constexpr Device kGpu = Device::cuda(0);

class WaitSuspendedOnTheDouble : public testing::Test {
 protected:
  void SetUp() override {
    DeviceDouble::reset();
    if (test::kStacksAreWatched) GTEST_SKIP() << "the sanitizer does not follow a switch of stacks";
  }
  void TearDown() override { DeviceDouble::reset(); }
};

/// A wait that blocks would never end: only the second event lets the first one's queue go.
TEST_F(WaitSuspendedOnTheDouble, LeavesTheOnlyThreadToAnotherEvent) {
  const Queue queue(kGpu);
  const Buffer buffer(kGpu, 1);
  const std::thread::id here = std::this_thread::get_id();
  std::byte seen{7};
  std::vector<std::string> log;
  DeviceDouble::hold(0);
  run_work(2, 1, 2, [&](std::size_t event, std::size_t) {
    EXPECT_EQ(std::this_thread::get_id(), here);
    if (event == 1) {
      log.emplace_back("another");
      EXPECT_EQ(seen, std::byte{7});
      DeviceDouble::let_go(0);
      return;
    }
    zero_bytes(queue, buffer.data(), 1);
    copy_bytes(queue, &seen, Device::cpu(), buffer.data(), kGpu, 1);
    log.emplace_back("before");
    wait_suspended(queue);
    log.emplace_back("after");
    EXPECT_EQ(seen, std::byte{0});
    EXPECT_EQ(std::this_thread::get_id(), here);
  });
  EXPECT_EQ(log, (std::vector<std::string>{"before", "another", "after"}));
}

TEST_F(WaitSuspendedOnTheDouble, TheGivenNumberOfEventsIsUnderWayEachWithItsOwnSlot) {
  constexpr int kThreads = 2;
  constexpr std::size_t kInFlight = 5;
  std::mutex mutex;
  std::set<std::size_t> slots;
  std::atomic<std::size_t> under_way = 0;
  DeviceDouble::hold(0);
  run_work(50, kThreads, kInFlight, [&](std::size_t, std::size_t slot) {
    const Queue queue(kGpu);
    {
      const std::lock_guard lock(mutex);
      EXPECT_TRUE(slots.insert(slot).second) << "slot " << slot << " is another event's";
      EXPECT_LT(slot, kInFlight);
    }
    // None goes on before the most that may wait do.
    if (++under_way == kInFlight) DeviceDouble::let_go(0);
    wait_suspended(queue);
    const std::lock_guard lock(mutex);
    slots.erase(slot);
  });
  EXPECT_EQ(under_way, 50U);
}

TEST_F(WaitSuspendedOnTheDouble, EventsOfAQueueThatIsHeldAgainAndAgainAllComeOut) {
  constexpr std::size_t kEvents = 300;
  std::atomic<bool> is_over = false;
  std::jthread other([&] {
    while (!is_over) {
      DeviceDouble::hold(0);
      std::this_thread::yield();
      DeviceDouble::let_go(0);
    }
  });
  const std::size_t delivered = run_work(kEvents, 2, 8, [&](std::size_t event, std::size_t) {
    const Queue queue(kGpu);
    const Buffer buffer(kGpu, sizeof event);
    std::size_t seen = kEvents;
    copy_bytes(queue, buffer.data(), kGpu, &event, Device::cpu(), sizeof event);
    wait_suspended(queue);
    copy_bytes(queue, &seen, Device::cpu(), buffer.data(), kGpu, sizeof event);
    wait_suspended(queue);
    EXPECT_EQ(seen, event);
  });
  is_over = true;
  EXPECT_EQ(delivered, kEvents);
}

TEST_F(WaitSuspendedOnTheDouble, GoesOnWithTheErrorWhereTheDeviceIsLostMeanwhile) {
  const Queue queue(kGpu);
  const Buffer buffer(kGpu, 1);
  int errors = 0;
  DeviceDouble::hold(0);
  run_work(2, 1, 2, [&](std::size_t event, std::size_t) {
    if (event == 1) {
      DeviceDouble::lose(0);
      return;
    }
    zero_bytes(queue, buffer.data(), 1);
    EXPECT_THROW(wait_suspended(queue), DeviceLostError);
    ++errors;
  });
  EXPECT_EQ(errors, 1);
}

/// An exception that leaves the callback of oneTBB, of whatever type, ends the process.
TEST_F(WaitSuspendedOnTheDouble, WaitsWithItsThreadWhereTheHostHasNoMemoryForACall) {
  const Queue queue(kGpu);
  const Buffer buffer(kGpu, 1);
  std::byte seen{7};
  int finished = 0;
  DeviceDouble::take_host_memory();
  run_work(2, 1, 2, [&](std::size_t, std::size_t) {
    zero_bytes(queue, buffer.data(), 1);
    copy_bytes(queue, &seen, Device::cpu(), buffer.data(), kGpu, 1);
    wait_suspended(queue);
    EXPECT_EQ(seen, std::byte{0});
    ++finished;
  });
  EXPECT_EQ(finished, 2);
}

TEST_F(WaitSuspendedOnTheDouble, OnADeviceThatIsLostThrowsAndTheOtherDeviceWorksOn) {
  const Queue lost(kGpu);
  const Queue good(Device::cuda(1));
  DeviceDouble::lose(0);
  const auto run = [&](const Queue& queue) {
    run_work(4, 2, 4, [&](std::size_t, std::size_t) { wait_suspended(queue); });
  };
  EXPECT_THROW(run(lost), DeviceLostError);
  run(good);
}

}  // namespace
}  // namespace tensoa::sched
