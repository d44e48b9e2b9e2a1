// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstddef>

#include "support/device_double.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/sched/queue_pool.hpp"

namespace tensoa::sched {
namespace {

using test::DeviceDouble;

class QueuePoolOnTheDouble : public testing::Test {
 protected:
  void TearDown() override { DeviceDouble::reset(); }
};

TEST_F(QueuePoolOnTheDouble, MakesItsQueuesAtOnceAndNoneLater) {
  {
    QueuePool pool(Device::cuda(1), 4);
    EXPECT_EQ(DeviceDouble::streams(), 4U);
    for (int i = 0; i < 100; ++i) {
      const QueuePool::Loan first = pool.take();
      const QueuePool::Loan second = pool.take();
    }
    EXPECT_EQ(DeviceDouble::streams(), 4U);
  }
  EXPECT_EQ(DeviceDouble::streams(), 0U);
}

TEST_F(QueuePoolOnTheDouble, AQueueIsGivenBackWhileItsWorkIsUnderWay) {
  const Device gpu = Device::cuda(0);
  QueuePool pool(gpu, 1);
  const Buffer buffer(gpu, 8);
  std::byte seen{9};
  DeviceDouble::hold(0);
  zero_bytes(*pool.take(), buffer.data(), 8);
  copy_bytes(*pool.take(), &seen, Device::cpu(), buffer.data(), gpu, 1);
  EXPECT_EQ(seen, std::byte{9});
  DeviceDouble::let_go(0);
  pool.take()->wait();
  EXPECT_EQ(seen, std::byte{0});
}

TEST_F(QueuePoolOnTheDouble, OfALostDeviceLeavesTheOthersAlone) {
  QueuePool lost(Device::cuda(0), 2);
  QueuePool good(Device::cuda(1), 2);
  DeviceDouble::lose(0);
  EXPECT_THROW(lost.take()->wait(), DeviceLostError);
  EXPECT_TRUE(lost.try_take()) << "an error gives the queue back";
  EXPECT_THROW(QueuePool(Device::cuda(0), 1), DeviceLostError);
  good.take()->wait();
}

}  // namespace
}  // namespace tensoa::sched
