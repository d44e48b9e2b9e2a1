// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Several devices, and what goes wrong with them: lost, full, busy; streams that are destroyed or
// belong to another one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "device_ops.hpp"
#include "support/device_double.hpp"
#include "tensoa/core/device.hpp"
#include "tensoa/core/device_guard.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/event.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/core/queue_memory.hpp"
#include "tensoa/core/strided_copy.hpp"

namespace tensoa {
namespace {

using test::DeviceDouble;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr Device kFirst = Device::cuda(0);
constexpr Device kSecond = Device::cuda(1);

class SeveralDevices : public testing::Test {
 protected:
  void SetUp() override { DeviceDouble::reset(); }
  void TearDown() override { DeviceDouble::reset(); }
};

TEST_F(SeveralDevices, AreListedWithTheCpuFirst) {
  EXPECT_THAT(devices(), ElementsAre(Device::cpu(), kFirst, kSecond));
  EXPECT_EQ(device_name(kSecond), "simulated GPU 1");
  EXPECT_THAT(
      [] { require_available(Device::cuda(2)); },
      ThrowsMessage<DeviceError>("device cuda:2 is not there; there is: cpu, cuda:0 to cuda:1"));
}

TEST_F(SeveralDevices, CopySeveralTensorsByOneKernelForEach32) {
  const Queue queue(kFirst);
  const Buffer from(kFirst, 1 << 16);
  const Buffer to(kFirst, 1 << 16);
  const auto kernels_of = [&](std::size_t count, auto place) {
    const std::size_t before = DeviceDouble::kernels();
    strided_copies(queue, count, [&](std::size_t i) {
      const auto view = [&](const Buffer& memory) {
        TensorView column{.data = memory.data() + 4 * place(i), .device = kFirst, .rank = 1};
        column.size_of_dim[0] = 5;
        column.stride_of_dim[0] = 2;
        return column;
      };
      return TensorCopy{view(to), view(from)};
    });
    return DeviceDouble::kernels() - before;
  };
  const auto uneven = [](std::size_t i) { return 12 * i + i * i; };
  EXPECT_EQ(kernels_of(0, uneven), 0);
  EXPECT_EQ(kernels_of(15, uneven), 1);
  EXPECT_EQ(kernels_of(32, uneven), 1);
  EXPECT_EQ(kernels_of(33, uneven), 2);
  const auto even = [](std::size_t i) { return 12 * i; };
  EXPECT_EQ(kernels_of(15, even), 1);
  EXPECT_EQ(kernels_of(300, even), 10);  // 32 are requested at a time
}

TEST_F(SeveralDevices, AreNamedByEveryCallWithAnIndexOutOfRange) {
  int handle = 0;
  for (const Device device : {Device::cuda(2), Device::cuda(-1), Device::cuda(kMaxDevices),
                              Device{DeviceKind::kCpu, 1}}) {
    const auto is_error = ThrowsMessage<DeviceError>(
        "device " + to_string(device) + " is not there; there is: cpu, cuda:0 to cuda:1");
    EXPECT_THAT([&] { const Queue queue(device); }, is_error);
    EXPECT_THAT([&] { const Buffer buffer(device, 8); }, is_error);
    EXPECT_THAT([&] { const PinnedBuffer buffer(device, 8); }, is_error);
    EXPECT_THAT([&] { const DeviceGuard guard(device); }, is_error);
    EXPECT_THAT([&] { device_name(device); }, is_error);
    EXPECT_THAT([&] { device_memory(device); }, is_error);
    EXPECT_THAT([&] { memory_budget(device, 8); }, is_error);
    EXPECT_THAT([&] { memory_figures(device); }, is_error);
    if (device.is_cpu()) continue;
    EXPECT_THAT([&] { Queue::borrow(device, &handle); }, is_error);
    EXPECT_THAT([&] { Event::borrow(device, &handle); }, is_error);
  }
  Queue(kSecond).wait();  // the others work on
}

TEST_F(SeveralDevices, TellTheirMemoryTotalAndFree) {
  DeviceDouble::reset(2, 1000);
  const Buffer buffer(kSecond, 300);
  EXPECT_EQ(device_memory(kFirst).free, 1000U);
  EXPECT_EQ(device_memory(kSecond).free, 700U);
  EXPECT_EQ(device_memory(kSecond).total, 1000U);
}

TEST_F(SeveralDevices, HaveABudgetEach) {
  memory_budget(kSecond, 100);
  EXPECT_THROW(Buffer(kSecond, 101), DeviceFullError);
  EXPECT_EQ(Buffer(kFirst, 101).size(), 101U);
  EXPECT_EQ(DeviceDouble::used(1), 0U) << "refused before the device is asked";
  memory_budget(kSecond, kNoBudget);
}

TEST_F(SeveralDevices, RunWorkInTheOrderOfEventsAcrossDevices) {
  const Queue producer(kFirst);
  const Queue consumer(kSecond);
  const Buffer from(kFirst, 1);
  const Buffer to(kSecond, 1);
  std::byte value{7};
  std::byte seen{0};
  DeviceDouble::hold(0);
  copy_bytes(producer, from.data(), kFirst, &value, Device::cpu(), 1);
  copy_bytes(producer, &seen, Device::cpu(), from.data(), kFirst, 1);
  const Event filled(producer);
  consumer.wait_for(filled);
  copy_bytes(consumer, to.data(), kSecond, &seen, Device::cpu(), 1);
  const Event done(consumer);
  EXPECT_FALSE(filled.is_reached());
  EXPECT_FALSE(done.is_reached()) << "waits for the first device";
  DeviceDouble::let_go(0);
  done.wait();
  EXPECT_TRUE(filled.is_reached());
  EXPECT_EQ(*to.data(), std::byte{7});
}

TEST_F(SeveralDevices, BlockAlsoTheDefaultStreamsAndThatOfTheCallingThreadOnly) {
  const Buffer from(kFirst, 1);
  const Queue producer(kFirst);
  const Queue busy(kSecond);
  *from.data() = std::byte{7};
  // NOLINTBEGIN(performance-no-int-to-ptr): the default streams are numbers
  for (const std::uintptr_t handle : {0U, 1U, 2U}) {
    void* const stream = reinterpret_cast<void*>(handle);
    const auto copy_to = [&](std::byte& to) { detail::gpu_copy(0, stream, &to, from.data(), 1); };
    std::byte seen{};
    std::byte of_another_thread{};
    DeviceDouble::hold(1);
    producer.wait_for(Event(busy));
    Event(producer).make_wait(stream);
    copy_to(seen);
    std::thread([&] { copy_to(of_another_thread); }).join();
    EXPECT_EQ(seen, std::byte{0}) << handle;
    EXPECT_EQ(of_another_thread == std::byte{7}, handle == 2);
    DeviceDouble::let_go(1);
    EXPECT_EQ(seen, std::byte{7}) << handle;
  }
  // NOLINTEND(performance-no-int-to-ptr)
}

TEST_F(SeveralDevices, OnlyWhatSaysSoWaitsForWork) {
  const Queue queue(kFirst);
  const Buffer buffer(kFirst, 100);
  DeviceDouble::hold(0);
  for (int i = 0; i < 1000; ++i) zero_bytes(queue, buffer.data(), 100);
  const Event event(queue);
  EXPECT_FALSE(event.is_reached());
  std::atomic<bool> is_let_go = false;
  std::jthread other([&] {
    is_let_go = true;
    DeviceDouble::let_go(0);
  });
  event.wait();
  EXPECT_TRUE(is_let_go);
  queue.wait();
}

TEST_F(SeveralDevices, CallBackInTheOrderOfTheQueue) {
  const Queue queue(kFirst);
  const Buffer buffer(kFirst, 1);
  std::vector<std::byte> seen(2, std::byte{9});
  std::vector<std::byte> at_call;
  DeviceDouble::hold(0);
  zero_bytes(queue, buffer.data(), 1);
  copy_bytes(queue, &seen[0], Device::cpu(), buffer.data(), kFirst, 1);
  queue.when_done([&] { at_call = seen; });
  copy_bytes(queue, &seen[1], Device::cpu(), buffer.data(), kFirst, 1);
  EXPECT_TRUE(at_call.empty()) << "the device is held";
  DeviceDouble::let_go(0);
  EXPECT_THAT(at_call, ElementsAre(std::byte{0}, std::byte{9}));
  EXPECT_EQ(seen[1], std::byte{0});
}

// ---- wrong queues

TEST_F(SeveralDevices, ACopyNamesTheDeviceOfTheQueueAndThatOfTheData) {
  const Queue queue(kFirst);
  const Buffer there(kSecond, 8);
  std::byte here{};
  EXPECT_THAT([&] { copy_bytes(queue, there.data(), kSecond, &here, Device::cpu(), 1); },
              ThrowsMessage<DeviceError>(AllOf(HasSubstr("copying between cpu and cuda:1"),
                                               HasSubstr("got one of cuda:0"))));
  EXPECT_THAT([&] { copy_bytes(queue, there.data(), kSecond, there.data(), kFirst, 1); },
              ThrowsMessage<DeviceError>(HasSubstr("between cuda:0 and cuda:1")));
}

TEST_F(SeveralDevices, BorrowingNamesTheDeviceOfTheStreamAndTheOneThatWasGiven) {
  const Queue owner(kSecond);
  EXPECT_EQ(Queue::borrow(kSecond, owner.native_handle()).device(), kSecond);
  EXPECT_THAT([&] { Queue::borrow(kFirst, owner.native_handle()); },
              ThrowsMessage<DeviceError>(AllOf(HasSubstr("got a stream of cuda:1 as one of cuda:0"),
                                               HasSubstr("CUDA_VISIBLE_DEVICES"))));
}

TEST_F(SeveralDevices, AStreamThatWasDestroyedIsAnErrorNotACrash) {
  const Queue queue(kSecond);
  const Buffer buffer(kSecond, 8);
  DeviceDouble::destroy_stream(queue.native_handle());
  const auto is_error =
      ThrowsMessage<DeviceError>(AllOf(HasSubstr("cuda:1"), HasSubstr("destroy")));
  EXPECT_THAT([&] { zero_bytes(queue, buffer.data(), 8); }, is_error);
  EXPECT_THAT([&] { queue.wait(); }, is_error);
  EXPECT_THAT([&] { Event{queue}; }, is_error);
  EXPECT_THAT([&] { Queue::borrow(kSecond, queue.native_handle()); }, is_error);
  zero_bytes(Queue(kSecond), buffer.data(), 8);  // the device works on
}

TEST_F(SeveralDevices, AQueueThatWasMovedFromIsNotTheDefaultStream) {
  Queue queue(kFirst);
  const Queue moved = std::move(queue);
  // NOLINTBEGIN(bugprone-use-after-move): what this is about
  EXPECT_EQ(queue.native_handle(), moved.native_handle());
  Event event(queue);
  const Event also = std::move(event);
  EXPECT_EQ(event.native_handle(), also.native_handle());
  // NOLINTEND(bugprone-use-after-move)
}

TEST_F(SeveralDevices, AQueueLivesUntilItsLastCopyIsGone) {
  {
    const Queue queue(kFirst);
    const Queue borrowed = Queue::borrow(kFirst, queue.native_handle());
    const Queue copy = queue;  // NOLINT(performance-unnecessary-copy-initialization)
    EXPECT_EQ(DeviceDouble::streams(), 1U);
  }
  EXPECT_EQ(DeviceDouble::streams(), 0U);
}

TEST_F(SeveralDevices, MemoryThatIsReplacedCountsUntilItIsFree) {
  const Queue queue(kFirst);
  Buffer buffer(kFirst, 8);
  const Lease lease = buffer.lease();
  const std::size_t in_use = memory_figures(kFirst).all.now;
  DeviceDouble::hold(0);
  zero_bytes(queue, buffer.data(), 8);
  std::jthread other([&] { buffer = Buffer(); });  // waits for the device
  for (int i = 0; lease.is_live() && i < 5000; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_FALSE(lease.is_live()) << "no new use may begin";
  EXPECT_EQ(memory_figures(kFirst).all.now, in_use);
  DeviceDouble::let_go(0);
  other.join();
  EXPECT_EQ(memory_figures(kFirst).all.now, in_use - 8);
}

TEST_F(SeveralDevices, SayInWhichOfThemMemoryLies) {
  const Buffer buffer(kSecond, 100);
  const int of_host = 0;
  EXPECT_EQ(device_of(buffer.data() + 99), kSecond);
  EXPECT_EQ(device_of(&of_host), Device::cpu());
}

TEST_F(SeveralDevices, QueueMemoryIsGivenBackWhenTheWorkBeforeIsDoneAndWithoutWaiting) {
  const Queue queue(kFirst);
  QueueMemory memory(queue);
  DeviceDouble::hold(0);
  {
    const Buffer buffer(kFirst, 1000, memory);
    zero_bytes(queue, buffer.data(), 1000);
    EXPECT_EQ(memory_figures(kFirst).of(MemoryPurpose::kCollections).now, 1000U);
  }
  EXPECT_EQ(DeviceDouble::used(0), 1000U);
  DeviceDouble::let_go(0);
  EXPECT_EQ(DeviceDouble::used(0), 0U);
  EXPECT_EQ(memory_figures(kFirst).of(MemoryPurpose::kCollections).now, 0U);
}

// ---- lost and full devices

TEST_F(SeveralDevices, ALostOneIsATypedErrorAndTheOthersWorkOn) {
  const Queue lost(kFirst);
  const Queue good(kSecond);
  Buffer gone(kFirst, 8);
  const Buffer there(kSecond, 8);
  const Event event(lost);
  const std::size_t in_use = memory_figures(kFirst).all.now;
  DeviceDouble::lose(0);
  const auto is_lost = ThrowsMessage<DeviceLostError>(HasSubstr("cuda:0"));
  EXPECT_THAT([&] { zero_bytes(lost, gone.data(), 8); }, is_lost);
  EXPECT_THAT([&] { lost.wait(); }, is_lost);
  EXPECT_THAT([&] { event.wait(); }, is_lost);
  EXPECT_THAT([&] { static_cast<void>(event.is_reached()); }, is_lost);
  EXPECT_THAT([&] { good.wait_for(event); }, is_lost);
  EXPECT_THAT([&] { Buffer(kFirst, 1); }, is_lost);
  EXPECT_THAT([&] { Queue{kFirst}; }, is_lost);
  EXPECT_THAT([&] { device_memory(kFirst); }, is_lost);
  EXPECT_EQ(memory_figures(kFirst).all.now, in_use) << "what failed is not counted";
  gone = Buffer();  // frees on the lost device
  EXPECT_EQ(memory_figures(kFirst).all.now, in_use - 8);

  std::byte seen{1};
  zero_bytes(good, there.data(), 8);
  copy_bytes(good, &seen, Device::cpu(), there.data(), kSecond, 1);
  good.wait();
  EXPECT_EQ(seen, std::byte{0});
}

TEST_F(SeveralDevices, ThoseWhoWaitForADeviceThatIsLostGetTheError) {
  const Queue queue(kFirst);
  const Buffer buffer(kFirst, 8);
  DeviceDouble::hold(0);
  zero_bytes(queue, buffer.data(), 8);
  std::jthread other([] { DeviceDouble::lose(0); });
  EXPECT_THROW(queue.wait(), DeviceLostError);
}

TEST_F(SeveralDevices, ThoseWhoAreToBeCalledByADeviceThatIsLostAreCalledOnceAndGetTheError) {
  const Queue queue(kFirst);
  const Buffer buffer(kFirst, 8);
  const auto held = std::make_shared<int>(0);
  DeviceDouble::hold(0);
  zero_bytes(queue, buffer.data(), 8);
  queue.when_done([held] { ++*held; });
  DeviceDouble::lose(0);
  EXPECT_EQ(*held, 1);
  EXPECT_THROW(queue.wait(), DeviceLostError);
  EXPECT_THROW(queue.when_done([held] { ++*held; }), DeviceLostError);
  EXPECT_EQ(*held, 1) << "what could not be enqueued is not called";
  EXPECT_EQ(held.use_count(), 1) << "and what was to be called is gone";
}

TEST_F(SeveralDevices, AFullOneIsATypedErrorAndWorksOn) {
  DeviceDouble::reset(2, 1000);
  const Queue queue(kSecond);
  const Buffer most(kSecond, 900);
  EXPECT_THAT([] { Buffer(kSecond, 101); },
              ThrowsMessage<DeviceFullError>(
                  AllOf(HasSubstr("101 bytes on cuda:1"), HasSubstr("100 bytes are free"))));
  EXPECT_EQ(DeviceDouble::used(1), 900U);
  EXPECT_EQ(memory_figures(kSecond).all.now, 900U);
  zero_bytes(queue, most.data(), 900);
  EXPECT_EQ(Buffer(kSecond, 100).size(), 100U);
  EXPECT_EQ(Buffer(kFirst, 1000).size(), 1000U);
}

}  // namespace
}  // namespace tensoa
