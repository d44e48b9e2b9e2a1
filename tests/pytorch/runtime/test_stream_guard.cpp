// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/stream_guard.hpp"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>

#include "pytorch/jit_fixture.hpp"
#include "support/gpu_context.hpp"
#include "tensoa/core/device_guard.hpp"

namespace tensoa::pytorch {
namespace {

/// torch's current device and its current streams, in this thread.
struct Current {
  int device = 0;
  c10::Stream on_first;
  c10::Stream on_second;

  friend bool operator==(const Current&, const Current&) = default;
};

const c10::impl::VirtualGuardImpl& torch_cuda() {
  static const c10::impl::VirtualGuardImpl guard(c10::DeviceType::CUDA);
  return guard;
}

c10::Stream stream_of(int device) {
  return torch_cuda().getStream({c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(device)});
}

Current current() { return {torch_cuda().getDevice().index(), stream_of(0), stream_of(1)}; }

void* handle_of(const c10::Stream& stream) { return torch_cuda().getStreamNativeHandle(stream); }

TEST(StreamGuard, OfACpuQueueDoesNothing) { const StreamGuard guard{Queue(Device::cpu())}; }

TEST(StreamGuard, SetsDeviceAndStreamOfADeviceThatIsNotCurrentAndPutsBothBack) {
  if (device_count(DeviceKind::kCuda) < 2) GTEST_SKIP() << "no two CUDA devices";
  for (const int here : {0, 1}) {
    const int there = 1 - here;
    const DeviceGuard of_caller(Device::cuda(here));
    const Queue queue(Device::cuda(there));
    const Current before = current();
    EXPECT_EQ(before.device, here);
    {
      const StreamGuard guard(queue);
      EXPECT_EQ(current().device, there);
      EXPECT_EQ(handle_of(stream_of(there)), queue.native_handle());
      EXPECT_EQ(stream_of(here), here == 0 ? before.on_first : before.on_second)
          << "the other device's stream stays";
      {
        const Queue inner(Device::cuda(here));
        const StreamGuard nested(inner);
        EXPECT_EQ(current().device, here);
        EXPECT_EQ(handle_of(stream_of(here)), inner.native_handle());
        EXPECT_EQ(handle_of(stream_of(there)), queue.native_handle());
      }
      EXPECT_EQ(current().device, there);
    }
    EXPECT_EQ(current(), before);
  }
}

TEST(StreamGuard, SetsTheStreamOfTheCurrentDeviceAndPutsItBack) {
  if (device_count(DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
  const Queue queue(Device::cuda(0));
  const c10::Stream before = stream_of(0);
  {
    const StreamGuard guard(queue);
    EXPECT_EQ(handle_of(stream_of(0)), queue.native_handle());
  }
  EXPECT_EQ(stream_of(0), before);
}

/// In a separate process.
TEST(StreamGuardDeathTest, AndAModelOnASecondDeviceMakeNoContextOnTheFirst) {
  if (device_count(DeviceKind::kCuda) < 2) GTEST_SKIP() << "no two CUDA devices";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto use_second = [] {
    register_engines();
    const Queue queue(Device::cuda(1));
    {
      const test::JitModel model(test::model_file("mlp"));
      const PortableCollection<test::Points> in(10, queue.device());
      PortableCollection<test::Answers> out(10, queue.device());
      model.forward(queue, model.plan(test::mlp_metadata(in.const_view(), out.view())));
      queue.wait();
    }
    const bool is_alone = test::has_context(1) && !test::has_context(0);
    std::exit(!is_alone ? 1 : torch_cuda().getDevice().index() == 0 ? 0 : 2);
  };
  EXPECT_EXIT(use_second(), testing::ExitedWithCode(0), "");
}

TEST(StreamGuard, OfTheLegacyDefaultStreamIsTorchsDefaultStream) {
  if (device_count(DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
  const Queue own(Device::cuda(0));
  const StreamGuard outer(own);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the default streams are numbers
  void* const legacy = reinterpret_cast<void*>(std::uintptr_t{1});
  const StreamGuard guard(Queue::borrow(Device::cuda(0), legacy));
  EXPECT_EQ(handle_of(stream_of(0)), nullptr);
}

}  // namespace
}  // namespace tensoa::pytorch
