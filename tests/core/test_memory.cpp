// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "support/counting_resource.hpp"
#include "tensoa/core/error.hpp"

namespace tensoa {
namespace {

using test::CountingResource;

TEST(Buffer, IsAlignedAndMoves) {
  Buffer buffer(Device::cpu(), 1000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kAlignment, 0U);
  EXPECT_EQ(buffer.size(), 1000U);
  std::byte* const data = buffer.data();
  const Buffer moved = std::move(buffer);
  EXPECT_EQ(moved.data(), data);
}

TEST(Buffer, OfNoBytesIsEmpty) { EXPECT_EQ(Buffer(Device::cpu(), 0).data(), nullptr); }

TEST(Buffer, OnADeviceThatIsNotThereIsAnError) {
  EXPECT_THROW(Buffer(Device::cuda(99), 1), DeviceError);
}

TEST(CopyBytes, CopiesOnTheHost) {
  std::vector<int> from(100);
  std::iota(from.begin(), from.end(), 0);
  std::vector<int> to(100);
  copy_bytes(Queue(Device::cpu()), to.data(), Device::cpu(), from.data(), Device::cpu(),
             100 * sizeof(int));
  EXPECT_EQ(to, from);
}

TEST(CopyBytes, NeedsAQueueOfTheDeviceThatTakesPart) {
  int value = 0;
  EXPECT_THROW(copy_bytes(Queue(Device::cpu()), &value, Device::cuda(0), &value, Device::cpu(),
                          sizeof(value)),
               DeviceError);
}

TEST(CopyBytes, GoesToTheGpuAndBack) {
  if (device_count(DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
  const Device gpu = Device::cuda(0);
  const Queue queue(gpu);
  std::vector<int> from(1000);
  std::iota(from.begin(), from.end(), 0);
  std::vector<int> to(1000, -1);
  const Buffer buffer(gpu, 4000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kAlignment, 0U);
  copy_bytes(queue, buffer.data(), gpu, from.data(), Device::cpu(), 4000);
  zero_bytes(queue, buffer.data(), 2000);
  copy_bytes(queue, to.data(), Device::cpu(), buffer.data(), gpu, 4000);
  queue.wait();
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(to[static_cast<std::size_t>(i)], i < 500 ? 0 : i);
}

std::size_t collections_on_cpu() {
  return memory_figures(Device::cpu()).of(MemoryPurpose::kCollections).now;
}

TEST(Buffer, TakesItsMemoryFromAResourceAndGivesItBackThere) {
  CountingResource source;
  const std::size_t before = collections_on_cpu();
  {
    Buffer buffer(Device::cpu(), 1000, source);
    EXPECT_EQ(source.taken, 1000U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kAlignment, 0U);
    EXPECT_EQ(collections_on_cpu(), before + 1000);
    const Lease lease = buffer.lease();
    const Buffer moved = std::move(buffer);
    EXPECT_EQ(source.given_back, 0U);
    buffer = Buffer(Device::cpu(), 50, source);
    buffer = Buffer(Device::cpu(), 60);
    EXPECT_EQ(source.given_back, 50U);
    EXPECT_TRUE(lease.is_live());
  }
  EXPECT_EQ(source.given_back, 1050U);
  EXPECT_EQ(collections_on_cpu(), before);
}

TEST(Buffer, TakesNothingFromAResourceForNoBytes) {
  CountingResource source;
  EXPECT_EQ(Buffer(Device::cpu(), 0, source).data(), nullptr);
  EXPECT_EQ(source.taken, 0U);
}

TEST(Buffer, PassesOnWhatAFullResourceThrowsAndIsNotCounted) {
  CountingResource source;
  source.is_full = true;
  const std::size_t before = collections_on_cpu();
  EXPECT_THROW(Buffer(Device::cpu(), 1000, source), DeviceFullError);
  EXPECT_EQ(collections_on_cpu(), before);
}

TEST(PinnedBuffer, IsPlainMemoryForTheCpu) {
  PinnedBuffer buffer(Device::cpu(), 100);
  EXPECT_EQ(buffer.size(), 100U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % kAlignment, 0U);
  buffer.data()[99] = std::byte{7};
  const std::byte* data = buffer.data();
  const PinnedBuffer moved = std::move(buffer);
  EXPECT_EQ(moved.data(), data);
  EXPECT_EQ(moved.data()[99], std::byte{7});
  EXPECT_EQ(PinnedBuffer(Device::cpu(), 0).size(), 0U);
}

TEST(PinnedBuffer, RefusesADeviceThatIsNotThere) {
  EXPECT_THROW(PinnedBuffer(Device::cuda(4711), 100), DeviceError);
}

TEST(PinnedBuffer, GoesToTheGpuAndBack) {
  if (device_count(DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
  const Device gpu = Device::cuda(0);
  const Queue queue(gpu);
  const PinnedBuffer from(gpu, 1000), to(gpu, 1000);
  const Buffer there(gpu, 1000);
  for (std::size_t i = 0; i < 1000; ++i) from.data()[i] = static_cast<std::byte>(i);
  copy_bytes(queue, there.data(), gpu, from.data(), Device::cpu(), 1000);
  copy_bytes(queue, to.data(), Device::cpu(), there.data(), gpu, 1000);
  queue.wait();
  EXPECT_TRUE(std::equal(from.data(), from.data() + 1000, to.data()));
}

TEST(ZeroBytes, ZeroesOnTheHost) {
  std::vector<int> data(10, 7);
  zero_bytes(Queue(Device::cpu()), data.data(), 5 * sizeof(int));
  EXPECT_EQ(data, (std::vector<int>{0, 0, 0, 0, 0, 7, 7, 7, 7, 7}));
}

}  // namespace
}  // namespace tensoa
