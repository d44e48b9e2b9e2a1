// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// device_ops_gpu.cpp over a runtime that tells on which device each call was made.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>

#include "gpu_runtime.hpp"
#include "tensoa/core/device_guard.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/event.hpp"
#include "tensoa/core/imported_memory.hpp"
#include "tensoa/core/log.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/core/queue_memory.hpp"

namespace tensoa {
namespace {

using detail::gpu::Error;
using detail::gpu::Runtime;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::ThrowsMessage;

constexpr Device kFirst = Device::cuda(0);
constexpr Device kSecond = Device::cuda(1);

class DeviceOps : public testing::Test {
 protected:
  void SetUp() override { Runtime::get() = {}; }

  Runtime& runtime_ = Runtime::get();
};

/// A new thread's current device is the first one, which may be lost or not for this process.
TEST_F(DeviceOps, OfADeviceTouchNoOther) {
  {
    const Queue queue(kSecond);
    const Buffer buffer(kSecond, 8);
    const PinnedBuffer pinned(kSecond, 8);
    zero_bytes(queue, buffer.data(), 8);
    copy_bytes(queue, pinned.data(), Device::cpu(), buffer.data(), kSecond, 8);
    const Event event(queue);
    queue.wait_for(event);
    event.wait();
    EXPECT_TRUE(event.is_reached());
    queue.wait();
    Queue::borrow(kSecond, queue.native_handle()).wait();
    device_memory(kSecond);
    const Buffer shared(kSecond, kExportedUnit);
    const ImportedMemory imported(kSecond, export_memory(shared));
    EXPECT_EQ(runtime_.current, 0);
  }
  EXPECT_THAT(runtime_.calls[0], IsEmpty());
  EXPECT_THAT(runtime_.calls[1], AllOf(Contains("stream_synchronize"), Contains("release_pinned"),
                                       Contains("import_end")));
}

TEST_F(DeviceOps, WaitForTheDefaultStreamOfTheirDevice) {
  // NOLINTBEGIN(performance-no-int-to-ptr): the default streams are numbers
  Queue::borrow(kSecond, reinterpret_cast<void*>(std::uintptr_t{1})).wait();
  EXPECT_THAT(runtime_.calls[1], Contains("stream_synchronize"));
  const Event event{Queue(kSecond)};
  for (const std::uintptr_t handle : {0U, 1U, 2U}) {
    event.make_wait(reinterpret_cast<void*>(handle));
  }
  // NOLINTEND(performance-no-int-to-ptr)
  EXPECT_THAT(runtime_.calls[1], Contains("stream_wait_event").Times(3));
}

TEST_F(DeviceOps, MakeACallOnceOrNotAtAllAndKeepNothingOfIt) {
  const Queue queue(kSecond);
  const auto calls = std::make_shared<int>(0);
  queue.when_done([calls] { ++*calls; });
  EXPECT_EQ(*calls, 1);
  runtime_.is_lost[1] = true;
  EXPECT_THROW(queue.when_done([calls] { ++*calls; }), DeviceLostError);
  EXPECT_EQ(*calls, 1);
  EXPECT_EQ(calls.use_count(), 1);
  EXPECT_EQ(runtime_.current, 0);
}

TEST_F(DeviceOps, WorkOnWhileTheCurrentDeviceIsLost) {
  const Queue queue(kSecond);
  const Event event(queue);
  runtime_.is_lost[0] = true;
  event.wait();
  EXPECT_TRUE(event.is_reached());
  queue.wait();
  EXPECT_EQ(Queue::borrow(kSecond, queue.native_handle()).device(), kSecond);
  EXPECT_THROW(Queue{kFirst}, DeviceLostError);
}

TEST_F(DeviceOps, LeaveTheCurrentDeviceAloneAlsoWhereTheyFail) {
  const Queue queue(kSecond);
  const Event event(queue);
  runtime_.is_lost[1] = true;
  const auto is_lost = ThrowsMessage<DeviceLostError>(
      HasSubstr("this process can use cuda:1 no more, and mostly no other GPU: go on with the CPU, "
                "or in a new process"));
  EXPECT_THAT([] { Queue{kSecond}; }, is_lost);
  EXPECT_THAT([] { Buffer(kSecond, 8); }, is_lost);
  EXPECT_THAT([&] { queue.wait(); }, is_lost);
  EXPECT_THAT([&] { event.wait(); }, is_lost);
  EXPECT_THAT([] { device_memory(kSecond); }, is_lost);
  EXPECT_EQ(runtime_.current, 0);
  EXPECT_EQ(runtime_.last, detail::gpu::kSuccess) << "what was reported does not stay";
}

TEST_F(DeviceOps, SayThatADestroyedHandleMayAlsoBeOneOfAnotherDevice) {
  const Queue queue(kSecond);
  const Buffer buffer(kSecond, 8);
  const Event event(queue);
  runtime_.is_destroyed = true;
  const auto is_error = ThrowsMessage<DeviceError>(
      HasSubstr("the stream or event was destroyed, or belongs to another device than cuda:1"));
  EXPECT_THAT([&] { queue.wait(); }, is_error);
  EXPECT_THAT([&] { Event{queue}; }, is_error);
  EXPECT_THAT([&] { event.wait(); }, is_error);
  EXPECT_THAT([&] { event.make_wait(queue.native_handle()); }, is_error);
  EXPECT_THAT([&] { queue.wait_for(event); }, is_error);
  EXPECT_THAT([&] { Queue::borrow(kSecond, queue.native_handle()); }, is_error);
  EXPECT_THAT([&] { zero_bytes(queue, buffer.data(), 8); }, is_error);
  EXPECT_EQ(runtime_.current, 0);
  EXPECT_EQ(runtime_.last, detail::gpu::kSuccess);
  runtime_.is_destroyed = false;
  Queue(kSecond).wait();
}

TEST_F(DeviceOps, SayThatADeviceIsFullWhateverWasAsked) {
  const Queue queue(kSecond);
  runtime_.is_full[1] = true;
  const auto is_full = ThrowsMessage<DeviceFullError>(HasSubstr("cuda:1"));
  EXPECT_THAT([] { Buffer(kSecond, 8); },
              ThrowsMessage<DeviceFullError>(
                  AllOf(HasSubstr("8 bytes on cuda:1"), HasSubstr("7 of 1000 bytes are free"))));
  EXPECT_THAT([] { Queue{kSecond}; }, is_full);
  EXPECT_THAT([&] { Event{queue}; }, is_full);
  EXPECT_THAT([] { PinnedBuffer(kSecond, 8); }, is_full);
}

TEST_F(DeviceOps, FreeMemoryOfAQueueAfterAllWorkWhereItsStreamIsGone) {
  const Queue queue(kSecond);
  QueueMemory memory(queue);
  { const Buffer buffer(kSecond, 8, memory); }
  EXPECT_THAT(runtime_.calls[1], Contains("release_in_order"));
  EXPECT_THAT(runtime_.calls[1], Not(Contains("release")));
  {
    const Buffer buffer(kSecond, 8, memory);
    runtime_.is_destroyed = true;
  }
  EXPECT_THAT(runtime_.calls[1], IsSupersetOf({"device_synchronize", "release"}));
  EXPECT_THAT(runtime_.calls[0], IsEmpty());
}

TEST_F(DeviceOps, SayWhyThereIsNoDevice) {
  const auto message = [] {
    try {
      require_available(kFirst);
      return std::string();
    } catch (const DeviceError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(message(), "");
  const std::string none = "device cuda:0 is not there; there is: cpu";
  runtime_.counting = Error::kNothing;
  EXPECT_EQ(message(), none);
  runtime_.counting = Error::kGone;
  EXPECT_EQ(message(), none + "; simulated says: an error");
  runtime_.counting = Error::kOld;
  EXPECT_EQ(
      message(),
      none + "; the driver is of simulated 13.0, this tensoa needs one of 13.1 or a later one");
  EXPECT_EQ(runtime_.last, detail::gpu::kSuccess) << "the next call that asks does not return it";
  static std::string logged;
  set_log_sink([](LogLevel, std::string_view text) { logged = text; });
  EXPECT_EQ(parse_device("auto"), Device::cpu());
  set_log_sink(nullptr);
  EXPECT_EQ(logged,
            "device auto is the cpu; the driver is of simulated 13.0, this tensoa needs one of "
            "13.1 or a later one");
  runtime_.driver = 0;  // none: CUDA calls that a driver that is too old
  EXPECT_EQ(message(), none);
}

TEST_F(DeviceOps, TakeMemoryThatThePoolKeepsBeforeTheySayThatADeviceIsFull) {
  const Queue queue(kFirst);
  QueueMemory memory(queue);
  runtime_.is_full[0] = true;
  EXPECT_THROW(Buffer(kFirst, 8, memory), DeviceFullError);
  EXPECT_THAT(runtime_.calls[0], IsSupersetOf({"pool_allocate", "pool_trim", "allocate"}));
}

TEST_F(DeviceOps, ThatFreeKeepTheErrorOfTheCallersOwnCode) {
  std::optional<Queue> queue(kSecond);
  std::optional<Event> event(*queue);
  Buffer buffer(kSecond, 8);
  PinnedBuffer pinned(kSecond, 8);
  runtime_.last = Error::kOfTheCaller;  // of a launch of theirs, read later
  event.reset();
  queue.reset();
  buffer = {};
  pinned = {};
  EXPECT_EQ(runtime_.last, Error::kOfTheCaller);
  runtime_.last = detail::gpu::kSuccess;

  queue.emplace(kSecond);
  runtime_.is_lost[1] = true;
  queue.reset();
  EXPECT_EQ(runtime_.last, detail::gpu::kSuccess) << "an error of this library stays in it";
  EXPECT_EQ(runtime_.current, 0);
}

}  // namespace
}  // namespace tensoa
