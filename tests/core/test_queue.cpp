// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"

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

TEST(Queue, OfTheCpuIsDoneImmediatelyAndCallsInThisThread) {
  std::thread::id caller;
  Queue(Device::cpu()).when_done([&] { caller = std::this_thread::get_id(); });
  EXPECT_EQ(caller, std::this_thread::get_id());
}

TEST(Queue, RefusesToCallNothing) {
  EXPECT_THAT([] { Queue(Device::cpu()).when_done({}); },
              testing::ThrowsMessage<ConfigError>(testing::HasSubstr("got no function")));
}

TEST(Queue, CallsOnceItsWorkIsDone) {
  if (device_count(DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
  const Device gpu = Device::cuda(0);
  const Queue queue(gpu);
  constexpr std::size_t kBytes = std::size_t{1} << 26U;
  const Buffer buffer(gpu, kBytes);
  std::vector<std::byte> seen(kBytes, std::byte{1});
  std::promise<std::byte> last;
  zero_bytes(queue, buffer.data(), kBytes);
  copy_bytes(queue, seen.data(), Device::cpu(), buffer.data(), gpu, kBytes);
  queue.when_done([&] { last.set_value(seen.back()); });
  EXPECT_EQ(last.get_future().get(), std::byte{0});
  queue.wait();
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
