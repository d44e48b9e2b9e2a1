// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/sched/sender.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <thread>
#include <tuple>

#include "support/device_double.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::sched {
namespace {

/// A call that another thread ends.
struct Call {
  std::function<void(Result<int>)> completion;
  std::jthread thread;

  void end_elsewhere(Result<int> result) {
    thread = std::jthread([this, result] { completion(result); });
  }
};

TEST(Sender, OfAQueueOfTheCpuCompletesAtOnce) {
  bool is_done = false;
  stdexec::sync_wait(queue_sender(Queue(Device::cpu())) | stdexec::then([&] { is_done = true; }));
  EXPECT_TRUE(is_done);
}

TEST(Sender, OfAQueueOfAGpuCompletesWhenItsWorkIsDone) {
  test::DeviceDouble::reset();
  const Queue queue(Device::cuda(0));
  test::DeviceDouble::hold(0);
  bool is_done = false;
  std::jthread gpu;
  auto sender = stdexec::just() | stdexec::then([&] {
                  gpu = std::jthread([&] {
                    is_done = true;
                    test::DeviceDouble::let_go(0);
                  });
                }) |
                stdexec::let_value([&] { return queue_sender(queue); }) |
                stdexec::then([&] { return bool(is_done); });
  EXPECT_EQ(stdexec::sync_wait(std::move(sender)), std::tuple(true));
}

TEST(Sender, OfAQueueWhoseDeviceIsLostHasTheError) {
  test::DeviceDouble::reset();
  const Queue queue(Device::cuda(0));
  test::DeviceDouble::lose(0);
  EXPECT_THROW(stdexec::sync_wait(queue_sender(queue)), DeviceError);
  test::DeviceDouble::reset();
}

TEST(Sender, OfACallHasItsResult) {
  Call call;
  // [sender]
  auto sender = call_sender<int>([&](auto completion) {  // model.submit(queue, plan, completion)
                  call.completion = std::move(completion);
                  call.end_elsewhere(41);
                }) |
                stdexec::then([](int answer) { return answer + 1; });
  // [/sender]
  EXPECT_EQ(stdexec::sync_wait(std::move(sender)), std::tuple(42));
}

TEST(Sender, OfACallHasTheErrorThatItEndedWith) {
  Call call;
  auto sender = call_sender<int>([&](auto completion) {
    call.completion = std::move(completion);
    call.end_elsewhere(Result<int>::failure(DeviceError("the device is gone")));
  });
  EXPECT_THROW(stdexec::sync_wait(std::move(sender)), DeviceError);
}

TEST(Sender, OfACallThatCannotStartHasWhatItThrew) {
  auto sender = call_sender<int>([](auto) { throw std::logic_error("no plan"); });
  EXPECT_THROW(stdexec::sync_wait(std::move(sender)), std::logic_error);
}

TEST(Sender, StartsNothingBeforeItIsStartedItself) {
  int starts = 0;
  const auto sender = call_sender<int>([&](auto completion) {
    ++starts;
    completion(1);
  });
  EXPECT_EQ(starts, 0);
  stdexec::sync_wait(sender);
  stdexec::sync_wait(sender);
  EXPECT_EQ(starts, 2);
}

}  // namespace
}  // namespace tensoa::sched
