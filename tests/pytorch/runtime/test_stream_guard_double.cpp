// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// The guard over simulated GPUs and over a simulated guard of torch: whatever a libtorch has
// registered for its device type "cuda", AMD's among them, is asked.

#include <c10/core/impl/FakeGuardImpl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "runtime/stream_guard.hpp"
#include "support/device_double.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa::pytorch {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using Torch = c10::impl::FakeGuardImpl<c10::DeviceType::CUDA>;

constexpr Device kFirst = Device::cuda(0);
constexpr Device kSecond = Device::cuda(1);

class StreamGuardOnTheDouble : public testing::Test {
 protected:
  void SetUp() override {
    static const Torch torch;
    c10::impl::registerDeviceGuard(c10::DeviceType::CUDA, &torch);
    Torch::setDeviceIndex(0);
    Torch::resetStreams();
  }
  void TearDown() override { test::DeviceDouble::reset(); }

  static c10::StreamId id(const Queue& queue) {
    return reinterpret_cast<c10::StreamId>(queue.native_handle());
  }
};

TEST_F(StreamGuardOnTheDouble, SetsDeviceAndStreamTogetherAndPutsBothBack) {
  const Queue outer(kSecond);
  const Queue inner(kFirst);
  {
    const StreamGuard guard(outer);
    EXPECT_EQ(Torch::getDeviceIndex(), 1);
    EXPECT_EQ(Torch::getCurrentStreamIdFor(1), id(outer));
    EXPECT_EQ(Torch::getCurrentStreamIdFor(0), 0);
    EXPECT_EQ(StreamGuard::current(), outer.native_handle());
    {
      const StreamGuard nested(inner);
      EXPECT_EQ(Torch::getDeviceIndex(), 0);
      EXPECT_EQ(Torch::getCurrentStreamIdFor(0), id(inner));
      EXPECT_EQ(Torch::getCurrentStreamIdFor(1), id(outer));
    }
    EXPECT_EQ(Torch::getDeviceIndex(), 1);
    EXPECT_EQ(StreamGuard::current(), outer.native_handle());
  }
  EXPECT_EQ(Torch::getDeviceIndex(), 0);
  EXPECT_EQ(Torch::getCurrentStreamIdFor(0), 0);
  EXPECT_EQ(Torch::getCurrentStreamIdFor(1), 0);
  EXPECT_EQ(StreamGuard::current(), nullptr);
}

TEST_F(StreamGuardOnTheDouble, TakesTheLegacyDefaultStreamForTorchsDefaultStream) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the default streams are numbers
  const Queue legacy = Queue::borrow(kFirst, reinterpret_cast<void*>(std::uintptr_t{1}));
  const Queue own(kFirst);
  const StreamGuard outer(own);
  const StreamGuard guard(legacy);
  EXPECT_EQ(Torch::getCurrentStreamIdFor(0), 0);
}

TEST_F(StreamGuardOnTheDouble, IsATypedErrorWhereTorchHasNoGpus) {
  c10::impl::registerDeviceGuard(c10::DeviceType::CUDA, nullptr);
  const Queue queue(kSecond);
  EXPECT_THAT([&] { StreamGuard{queue}; },
              ThrowsMessage<DeviceError>(HasSubstr("torch cannot use cuda:1: ")));
  EXPECT_EQ(StreamGuard::current(), nullptr);
  test::DeviceDouble::lose(1);
  EXPECT_THROW(StreamGuard{queue}, DeviceLostError);
}

}  // namespace
}  // namespace tensoa::pytorch
