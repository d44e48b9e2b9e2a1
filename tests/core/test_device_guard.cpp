// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/device_guard.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "device_ops.hpp"
#include "support/gpu_context.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/event.hpp"
#include "tensoa/core/memory.hpp"

namespace tensoa {
namespace {

int current_device() {
  const int now = detail::gpu_enter(0);
  detail::gpu_leave(now);
  return now;
}

TEST(DeviceGuard, ForTheCpuDoesNothing) {
  const DeviceGuard guard(Device::cpu());
  const DeviceGuard of_queue{Queue(Device::cpu())};
}

TEST(DeviceGuard, OfADeviceThatIsNotThereIsAnError) {
  EXPECT_THROW(const DeviceGuard guard(Device::cuda(99)), DeviceError);
}

TEST(DeviceGuard, SwitchesToTheDeviceOfAQueueThatIsNotCurrentAndBack) {
  if (device_count(DeviceKind::kCuda) < 2) GTEST_SKIP() << "no two CUDA devices";
  const Queue queue(Device::cuda(1));
  EXPECT_EQ(current_device(), 0);
  {
    const DeviceGuard guard(queue);
    EXPECT_EQ(current_device(), 1);
    {
      const DeviceGuard inner(Device::cuda(0));
      EXPECT_EQ(current_device(), 0);
    }
    EXPECT_EQ(current_device(), 1);
    std::thread([] { EXPECT_EQ(current_device(), 0) << "of one thread only"; }).join();
  }
  EXPECT_EQ(current_device(), 0);
}

TEST(DeviceGuard, PutsTheDeviceBackWhenAnExceptionPasses) {
  if (device_count(DeviceKind::kCuda) < 2) GTEST_SKIP() << "no two CUDA devices";
  try {
    const DeviceGuard guard(Device::cuda(1));
    throw std::runtime_error("the caller's");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(current_device(), 0);
}

TEST(DeviceGuard, IsNotNeededByOurOwnCallsWhichLeaveTheCurrentDeviceAlone) {
  if (device_count(DeviceKind::kCuda) < 2) GTEST_SKIP() << "no two CUDA devices";
  for (const int current : {0, 1}) {
    const DeviceGuard guard(Device::cuda(current));
    const Device other = Device::cuda(1 - current);
    const Queue queue(other);
    const Queue here(Device::cuda(current));
    {
      const Buffer buffer(other, 1000);
      zero_bytes(queue, buffer.data(), 1000);
      std::byte seen{1};
      copy_bytes(queue, &seen, Device::cpu(), buffer.data(), other, 1);
      const Event event(queue);
      here.wait_for(event);
      event.wait();
      EXPECT_TRUE(event.is_reached());
      queue.wait();
      here.wait();
      EXPECT_EQ(seen, std::byte{0});
      EXPECT_GT(device_memory(other).total, 0U);
      EXPECT_FALSE(device_name(other).empty());
      EXPECT_EQ(Queue::borrow(other, queue.native_handle()).device(), other);
    }
    EXPECT_EQ(current_device(), current);
  }
}

/// A new thread's current device is the first one, which another library may use. In a separate process.
TEST(DeviceGuardDeathTest, AndCallsOnASecondDeviceMakeNoContextOnTheFirst) {
  if (device_count(DeviceKind::kCuda) < 2) GTEST_SKIP() << "no two CUDA devices";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto use_second = [] {
    const Device second = Device::cuda(1);
    {
      const Queue queue(second);
      const DeviceGuard guard(queue);
      const Buffer buffer(second, 1000);
      const PinnedBuffer pinned(second, 1000);
      zero_bytes(queue, buffer.data(), 1000);
      queue.wait();
      static_cast<void>(device_memory(second));
    }
    std::exit(test::has_context(0) ? 1 : 0);
  };
  EXPECT_EXIT(use_second(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tensoa
