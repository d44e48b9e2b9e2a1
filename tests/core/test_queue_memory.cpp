// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/queue_memory.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensoa/core/device.hpp"
#include "tensoa/core/memory.hpp"

namespace tensoa {
namespace {

TEST(QueueMemory, OfTheCpuIsAlignedAsBuffersAre) {
  QueueMemory memory{Queue(Device::cpu())};
  const Buffer buffer(Device::cpu(), 1000, memory);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kAlignment, 0U);
  EXPECT_EQ(memory.queue().device(), Device::cpu());
}

TEST(QueueMemory, IsOnlyEqualToItself) {
  const QueueMemory memory{Queue(Device::cpu())};
  const QueueMemory other{Queue(Device::cpu())};
  EXPECT_TRUE(memory.is_equal(memory));
  EXPECT_FALSE(memory.is_equal(other));
}

TEST(QueueMemory, OfAGpuIsUsedInTheOrderOfTheQueue) {
  if (device_count(DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
  const Device gpu = Device::cuda(0);
  const Queue queue(gpu);
  QueueMemory memory(queue);
  constexpr std::size_t kBytes = std::size_t{1} << 20U;
  const std::vector<std::byte> sevens(kBytes, std::byte{7});
  std::vector<std::byte> found(kBytes);
  for (int i = 0; i < 100; ++i) {
    const Buffer buffer(gpu, kBytes, memory);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kAlignment, 0U);
    EXPECT_EQ(device_of(buffer.data()), gpu);
    zero_bytes(queue, buffer.data(), kBytes);
    copy_bytes(queue, buffer.data(), gpu, sevens.data(), Device::cpu(), kBytes / 2);
    copy_bytes(queue, found.data(), Device::cpu(), buffer.data(), gpu, kBytes);
  }
  wait_for_all_work(gpu);
  EXPECT_EQ(found[kBytes / 2 - 1], std::byte{7});
  EXPECT_EQ(found[kBytes / 2], std::byte{0});
}

}  // namespace
}  // namespace tensoa
