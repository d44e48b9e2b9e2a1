// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/driver_calls.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "support/device_double.hpp"
#include "tensoa/core/device_guard.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/queue.hpp"

namespace tensoa {
namespace {

constexpr Device kFirst = Device::cuda(0);
constexpr Device kSecond = Device::cuda(1);

/// Counts what a test does, from nothing.
class DriverCallsTest : public testing::Test {
 protected:
  void SetUp() override {
    test::DeviceDouble::reset();
    first_ = driver_calls(kFirst);
    second_ = driver_calls(kSecond);
    count_driver_calls(true);
  }
  void TearDown() override {
    count_driver_calls(false);
    test::DeviceDouble::reset();
  }

  std::uint64_t calls(Device device) const {
    return driver_calls(device).calls - (device == kFirst ? first_ : second_).calls;
  }
  std::uint64_t switches(Device device) const {
    return driver_calls(device).switches - (device == kFirst ? first_ : second_).switches;
  }

  DriverCalls first_;
  DriverCalls second_;
};

TEST_F(DriverCallsTest, AreCountedForTheirDeviceAndOnlyWhereThatIsAskedFor) {
  const Queue queue(kSecond);
  queue.wait();
  EXPECT_EQ(calls(kSecond), 2U);
  EXPECT_EQ(calls(kFirst), 0U);
  count_driver_calls(false);
  queue.wait();
  EXPECT_EQ(calls(kSecond), 2U);
}

TEST_F(DriverCallsTest, InsideADeviceGuardAreOneAndTakeItsTime) {
  const Queue queue(kFirst);
  const double before = driver_calls(kFirst).seconds;
  {
    const DeviceGuard guard(queue);
    queue.wait();
    queue.wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(calls(kFirst), 2U);
  EXPECT_GE(driver_calls(kFirst).seconds - before, 0.005);
}

TEST_F(DriverCallsTest, SwitchWhereAThreadWasOnAnotherDeviceBefore) {
  std::thread([&] {
    const Queue first(kFirst);
    const Queue second(kSecond);
    first.wait();
    first.wait();
  }).join();
  EXPECT_EQ(switches(kSecond), 1U);
  EXPECT_EQ(switches(kFirst), 1U);
}

TEST_F(DriverCallsTest, OfTheCpuAreNoneAndOfADeviceThatIsNotThereAnError) {
  Queue(Device::cpu()).wait();
  EXPECT_EQ(driver_calls(Device::cpu()).calls, 0U);
  EXPECT_THROW(static_cast<void>(driver_calls(Device::cuda(7))), DeviceError);
}

}  // namespace
}  // namespace tensoa
