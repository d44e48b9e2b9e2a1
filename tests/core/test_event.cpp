// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/event.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"

namespace tensoa {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Event, OfACpuQueueHasHappened) {
  const Queue queue(Device::cpu());
  const Event event(queue);
  EXPECT_EQ(event.device(), Device::cpu());
  EXPECT_EQ(event.native_handle(), nullptr);
  queue.wait_for(event);
  event.make_wait(nullptr);
}

TEST(Event, BorrowRefusesTheCpuAndNoEvent) {
  int event = 0;
  EXPECT_THAT(
      [&] { Event::borrow(Device::cpu(), &event); },
      ThrowsMessage<ConfigError>(HasSubstr("got an event of the cpu, expected a cudaEvent_t")));
  EXPECT_THAT([] { Event::borrow(Device::cuda(0), nullptr); },
              ThrowsMessage<ConfigError>(HasSubstr("got no event")));
  EXPECT_THROW(Event::borrow(Device::cuda(99), &event), DeviceError);
}

TEST(Event, OrdersTwoStreamsWithoutTheHost) {
  if (device_count(DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
  const Device gpu = Device::cuda(0);
  const Queue producer(gpu);
  const Queue consumer(gpu);
  constexpr std::size_t kBytes = std::size_t{1}
                                 << 28U;  // twenty of these take far longer than enqueuing
  const Buffer from(gpu, kBytes);
  const Buffer to(gpu, kBytes);
  std::vector<std::byte> ones(kBytes, std::byte{1});
  std::vector<std::byte> seen(1);
  copy_bytes(producer, from.data(), gpu, ones.data(), Device::cpu(), kBytes);
  producer.wait();
  for (int i = 0; i < 20; ++i) zero_bytes(producer, to.data(), kBytes);
  copy_bytes(producer, to.data(), gpu, from.data(), gpu, kBytes);
  consumer.wait_for(Event(producer));
  copy_bytes(consumer, seen.data(), Device::cpu(), to.data() + kBytes - 1, gpu, 1);
  consumer.wait();
  EXPECT_EQ(seen.front(), std::byte{1});
}

TEST(Event, OfAGpuIsRefusedByACpuQueue) {
  if (device_count(DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
  const Queue producer(Device::cuda(0));
  EXPECT_THAT([&] { Queue(Device::cpu()).wait_for(Event(producer)); },
              ThrowsMessage<ConfigError>(HasSubstr("cannot wait for an event of cuda:0")));
}

}  // namespace
}  // namespace tensoa
