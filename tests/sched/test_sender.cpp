// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// A queue in std::execution (C++26, P2300), as a framework that schedules with senders writes it.

#include <gtest/gtest.h>

#include <exception>
#include <stdexec/execution.hpp>
#include <thread>
#include <tuple>
#include <utility>

#include "support/device_double.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/queue.hpp"

namespace tensoa {
namespace {

// [sender]
/// Completes when the work that was enqueued until its start is done, or with the error of that work.
struct QueueSender {
  using sender_concept = stdexec::sender_t;
  using completion_signatures =
      stdexec::completion_signatures<stdexec::set_value_t(),
                                     stdexec::set_error_t(std::exception_ptr)>;

  template <class Receiver>
  struct Operation {
    using operation_state_concept = stdexec::operation_state_t;
    void start() & noexcept {
      const auto settle = [this](const std::exception_ptr& failure) {
        if (failure) return stdexec::set_error(std::move(receiver), failure);
        stdexec::set_value(std::move(receiver));
      };
      try {
        queue.when_settled(settle);
      } catch (...) {  // settle is not called then
        settle(std::current_exception());
      }
    }
    Queue queue;
    Receiver receiver;
  };
  template <class Receiver>
  Operation<Receiver> connect(Receiver receiver) const {
    return {queue, std::move(receiver)};
  }
  Queue queue;
};
// [/sender]

TEST(Sender, OfAQueueOfTheCpuCompletesImmediately) {
  bool is_done = false;
  stdexec::sync_wait(QueueSender{Queue(Device::cpu())} | stdexec::then([&] { is_done = true; }));
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
                stdexec::let_value([&] { return QueueSender{queue}; }) |
                stdexec::then([&] { return bool(is_done); });
  EXPECT_EQ(stdexec::sync_wait(std::move(sender)), std::tuple(true));
}

TEST(Sender, OfAQueueWhoseDeviceIsLostHasTheError) {
  test::DeviceDouble::reset();
  const Queue queue(Device::cuda(0));
  test::DeviceDouble::lose(0);
  EXPECT_THROW(stdexec::sync_wait(QueueSender{queue}), DeviceError);
  test::DeviceDouble::reset();
}

}  // namespace
}  // namespace tensoa
