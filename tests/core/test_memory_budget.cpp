// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/core/memory_budget.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "support/counting_resource.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"

namespace tensoa {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// On the CPU, and on a GPU where there is one.
class MemoryBudget : public testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    if (GetParam().index >= device_count(GetParam().kind)) GTEST_SKIP() << "no CUDA device";
    before_ = memory_figures(device());
  }
  void TearDown() override {
    if (!IsSkipped()) memory_budget(device(), kNoBudget);
  }

  Device device() const { return GetParam(); }
  std::size_t in_use() const { return memory_figures(device()).all.now - before_.all.now; }
  std::size_t in_use(MemoryPurpose purpose) const {
    return memory_figures(device()).of(purpose).now - before_.of(purpose).now;
  }

  MemoryFigures before_;
};

INSTANTIATE_TEST_SUITE_P(Devices, MemoryBudget, testing::Values(Device::cpu(), Device::cuda(0)),
                         [](const auto& each) { return each.param.is_cpu() ? "cpu" : "cuda"; });

TEST_P(MemoryBudget, FiguresCountBuffersByPurposeNowAndAtPeak) {
  {
    const Buffer columns(device(), 1000);
    const Buffer weights(device(), 200, MemoryPurpose::kWeights);
    std::optional<Buffer> workspace(std::in_place, device(), 30U, MemoryPurpose::kWorkspaces);
    EXPECT_EQ(in_use(), 1230U);
    EXPECT_EQ(in_use(MemoryPurpose::kCollections), 1000U);
    EXPECT_EQ(in_use(MemoryPurpose::kWeights), 200U);
    EXPECT_EQ(in_use(MemoryPurpose::kWorkspaces), 30U);
    workspace.reset();
    EXPECT_EQ(in_use(), 1200U);
    EXPECT_GE(memory_figures(device()).all.peak, before_.all.now + 1230U);
  }
  EXPECT_EQ(in_use(), 0U);
  EXPECT_GE(memory_figures(device()).of(MemoryPurpose::kWeights).peak, 200U);
}

TEST_P(MemoryBudget, IsCountedOnceWhereABufferMoves) {
  Buffer first(device(), 100);
  Buffer second = std::move(first);
  EXPECT_EQ(in_use(), 100U);
  EXPECT_EQ(first.size(), 0U);  // NOLINT(bugprone-use-after-move): what is left of it
  second = Buffer(device(), 7);
  EXPECT_EQ(in_use(), 7U);
  second = Buffer();
  EXPECT_EQ(in_use(), 0U);
}

TEST_P(MemoryBudget, OfTheCpuCountsPinnedMemoryWhicheverDeviceItServes) {
  const auto pinned = [] { return memory_figures(Device::cpu()).of(MemoryPurpose::kPinned); };
  const std::size_t others = memory_figures(Device::cpu()).all.now;
  {
    PinnedBuffer first(device(), 100);
    PinnedBuffer second = std::move(first);
    EXPECT_EQ(second.size(), 100U);
    EXPECT_EQ(pinned().now, 100U);
    second = PinnedBuffer(device(), 7);
    EXPECT_EQ(pinned().now, 7U);
    EXPECT_GE(pinned().peak, 107U);
    memory_budget(Device::cpu(), others + 10);
    EXPECT_THAT(
        [&] { PinnedBuffer(device(), 4); },
        ThrowsMessage<DeviceFullError>(AllOf(
            HasSubstr("memory for pinned on cpu: requested 4 bytes"), HasSubstr("pinned 7"))));
    memory_budget(Device::cpu(), kNoBudget);
  }
  EXPECT_EQ(pinned().now, 0U);
  EXPECT_EQ(memory_figures(Device::cpu()).all.now, others);
}

/// Charged when it is made, as a region that collections are made in.
class ChargedResource final : public ChargedMemory {
 public:
  ChargedResource(Device device, std::size_t bytes) : memory_(device, bytes) {}

 private:
  void* do_allocate(std::size_t, std::size_t) override { return memory_.data(); }
  void do_deallocate(void*, std::size_t, std::size_t) override {}
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  Buffer memory_;
};

TEST_P(MemoryBudget, IsChargedOnceForMemoryThatAResourceHasCharged) {
  ChargedResource resource(device(), 1000);
  memory_budget(device(), before_.all.now + 1000);
  Buffer columns(device(), 600, resource);
  EXPECT_EQ(columns.size(), 600U);
  EXPECT_EQ(columns.device(), device());
  EXPECT_EQ(in_use(), 1000U);
  const Buffer moved = std::move(columns);
  EXPECT_EQ(moved.size(), 600U);
  EXPECT_EQ(columns.size(), 0U);  // NOLINT(bugprone-use-after-move): what is left of it
  test::CountingResource other;
  EXPECT_THROW(Buffer(device(), 1, other), DeviceFullError) << "that of any other is charged";
}

TEST_P(MemoryBudget, IsUnlimitedUntilItIsSetAndAfterItIsRemoved) {
  EXPECT_EQ(memory_budget(device()), kNoBudget);
  memory_budget(device(), 5);
  EXPECT_EQ(memory_budget(device()), 5U);
  EXPECT_EQ(memory_figures(device()).budget, 5U);
  EXPECT_THROW(Buffer(device(), 6), DeviceFullError);
  memory_budget(device(), kNoBudget);
  EXPECT_EQ(Buffer(device(), 6).size(), 6U);
}

TEST_P(MemoryBudget, BeyondItIsAnErrorThatSaysBudgetInUseAndAsked) {
  memory_budget(device(), before_.all.now + 1000);
  const Buffer columns(device(), 600);
  const Buffer rest(device(), 400, MemoryPurpose::kWeights);  // exactly up to the budget
  const std::string where = to_string(device());
  EXPECT_THAT(
      [&] { Buffer(device(), 1, MemoryPurpose::kWorkspaces); },
      ThrowsMessage<DeviceFullError>(AllOf(
          HasSubstr("memory for workspaces on " + where + ": requested 1 bytes"),
          HasSubstr("the budget is " + std::to_string(before_.all.now + 1000)),
          HasSubstr("in use are " + std::to_string(before_.all.now + 1000)),
          HasSubstr("weights " + std::to_string(before_.of(MemoryPurpose::kWeights).now + 400)),
          HasSubstr("raise memory_budget()"))));
  EXPECT_EQ(in_use(), 1000U) << "what failed is not counted";
  EXPECT_THROW(Buffer(device(), kNoBudget - 10), DeviceFullError) << "no overflow";
}

TEST_P(MemoryBudget, BelowWhatIsInUseKeepsThatAndAllowsNoMore) {
  const Buffer columns(device(), 600);
  memory_budget(device(), 1);
  EXPECT_THROW(Buffer(device(), 1), DeviceFullError);
  EXPECT_EQ(Buffer(device(), 0).size(), 0U) << "an empty buffer takes no memory";
  EXPECT_EQ(columns.size(), 600U);
}

TEST_P(MemoryBudget, WhatALibraryHasTakenCountsAlsoBeyondIt) {
  MemoryCharge library(device(), MemoryPurpose::kEngines, 0);
  memory_budget(device(), before_.all.now + 100);
  library.set_bytes(60);
  EXPECT_THROW(Buffer(device(), 41), DeviceFullError);
  library.set_bytes(500);
  EXPECT_EQ(in_use(MemoryPurpose::kEngines), 500U);
  EXPECT_EQ(in_use(), 500U);
  EXPECT_THROW(Buffer(device(), 1), DeviceFullError);
  library.set_bytes(90);
  EXPECT_EQ(Buffer(device(), 10).size(), 10U);
  library = {};
  EXPECT_EQ(in_use(), 0U);
}

TEST_P(MemoryBudget, OfManyThreadsIsNeverExceededAndNeverRefusesWhatFits) {
  constexpr std::size_t kThreads = 4;
  memory_budget(device(), before_.all.now + kThreads * 10);
  std::atomic<int> refused = 0;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int call = 0; call < 2000; ++call) {
        try {
          const MemoryCharge mine(device(), MemoryPurpose::kCollections, 10);
          EXPECT_LE(in_use(), kThreads * 10);
        } catch (const DeviceFullError&) {
          ++refused;
        }
      }
    });
  }
  threads.clear();
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(in_use(), 0U);
}

TEST(MemoryFigures, OfADeviceThatIsNotThereAreAnError) {
  EXPECT_THROW(memory_figures(Device::cuda(99)), DeviceError);
  EXPECT_THROW(memory_budget(Device::cuda(99)), DeviceError);
  EXPECT_THROW(memory_budget(Device::cuda(99), 1), DeviceError);
  EXPECT_THROW(MemoryCharge(Device::cuda(-1), MemoryPurpose::kWeights, 1), DeviceError);
}

}  // namespace
}  // namespace tensoa
