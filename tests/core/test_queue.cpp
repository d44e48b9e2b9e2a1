// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "tensoa/core/error.hpp"

namespace tensoa {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Queue, ACpuQueueHasNoNativeHandleAndNothingToWaitFor) {
  const Queue queue(Device::cpu());
  EXPECT_EQ(queue.device(), Device::cpu());
  EXPECT_EQ(queue.native_handle(), nullptr);
  queue.wait();
}

TEST(Queue, OnADeviceThatIsNotThereIsAnError) {
  EXPECT_THROW(Queue(Device::cuda(99)), DeviceError);
}

TEST(Queue, BorrowRefusesTheCpuAndTheNullStream) {
  int stream = 0;
  EXPECT_THROW(Queue::borrow(Device::cpu(), &stream), ConfigError);
  EXPECT_THROW(Queue::borrow(Device::cuda(0), nullptr), ConfigError);
}

TEST(Queue, BorrowRefusesTheStreamThatIsAnotherOneInEachThread) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the default streams are numbers
  EXPECT_THAT([] { Queue::borrow(Device::cuda(0), reinterpret_cast<void*>(std::uintptr_t{2})); },
              ThrowsMessage<ConfigError>(
                  AllOf(HasSubstr("got the handle 2, the per-thread default stream"),
                        HasSubstr("expected one stream for all threads; pass one made with"))));
}

TEST(Queue, BorrowTakesTheLegacyDefaultStream) {
  if (device_count(DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the default streams are numbers
  Queue::borrow(Device::cuda(0), reinterpret_cast<void*>(std::uintptr_t{1})).wait();
}

TEST(Queue, CopiesStandForTheSameStream) {
  if (device_count(DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
  auto owner = std::make_unique<Queue>(Device::cuda(0));
  const Queue copy = *owner;
  const Queue borrowed = Queue::borrow(Device::cuda(0), owner->native_handle());
  EXPECT_EQ(copy.native_handle(), owner->native_handle());
  EXPECT_EQ(borrowed.native_handle(), owner->native_handle());
  owner.reset();
  copy.wait();  // the stream lives as long as its last copy
}

}  // namespace
}  // namespace tensoa
