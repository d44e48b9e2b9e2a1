// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory_bridge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tensoa/core/error.hpp"

namespace tensoa::pytorch {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// Memory of the CPU stands for a GPU's; streams are any pointers.
class MemoryBridgeTest : public testing::Test {
 protected:
  void TearDown() override { memory_budget(kDevice, kNoBudget); }

  static constexpr Device kDevice = Device::cpu();

  TorchAllocator framework() {
    return {.allocate =
                [this](std::size_t bytes, Device, void* stream) {
                  tell("allocate " + std::to_string(bytes) + " on " + name(stream));
                  return std::aligned_alloc(256, (bytes + 255) / 256 * 256);
                },
            .free =
                [this](void* data, Device, void* stream) {
                  tell("free on " + name(stream));
                  std::free(data);
                }};
  }

  std::string name(const void* stream) const {
    return stream == &a_ ? "a" : stream == &b_ ? "b" : stream == nullptr ? "none" : "unknown";
  }

  void tell(const std::string& what) { story_.push_back(what); }

  int a_ = 0;
  int b_ = 0;
  int unknown_ = 0;
  void* current_ = nullptr;
  std::vector<std::string> story_;
  MemoryBridge bridge_{framework(), [this] { return current_; }, [this](Device) { tell("wait"); }};
};

TEST_F(MemoryBridgeTest, WhatACallAllocatesAndFreesStaysInTheOrderOfItsStream) {
  current_ = &a_;
  bridge_.free(bridge_.allocate(100, kDevice, &a_));
  EXPECT_THAT(story_, testing::ElementsAre("allocate 100 on a", "free on a"));
}

TEST_F(MemoryBridgeTest, OfALoadIsOfNoStreamAndFreedAfterAWait) {
  void* const weights = bridge_.allocate(100, kDevice, nullptr);  // torch's default stream
  current_ = &a_;                                                 // freed while a call runs
  bridge_.free(weights);
  EXPECT_THAT(story_, testing::ElementsAre("allocate 100 on none", "wait", "free on none"));
}

TEST_F(MemoryBridgeTest, AStreamThatNoCallNamedIsNotPassedOn) {
  bridge_.free(bridge_.allocate(100, kDevice, &unknown_));
  current_ = &a_;  // in a call that works on a stream of torch's own
  bridge_.free(bridge_.allocate(7, kDevice, &unknown_));
  EXPECT_THAT(story_, testing::ElementsAre("allocate 100 on none", "wait", "free on none",
                                           "allocate 7 on none", "wait", "free on none"));
}

TEST_F(MemoryBridgeTest, WhatIsFreedOnAnotherStreamOrAfterTheCallWaits) {
  current_ = &a_;
  void* const first = bridge_.allocate(1, kDevice, &a_);
  void* const second = bridge_.allocate(2, kDevice, &a_);
  current_ = &b_;
  bridge_.free(first);
  current_ = nullptr;
  bridge_.free(second);
  EXPECT_THAT(story_, testing::ElementsAre("allocate 1 on a", "allocate 2 on a", "wait",
                                           "free on none", "wait", "free on none"));
}

TEST_F(MemoryBridgeTest, WhatASecondStreamUsedWaits) {
  current_ = &a_;
  void* const data = bridge_.allocate(100, kDevice, &a_);
  bridge_.record(data);
  bridge_.free(data);
  EXPECT_THAT(story_, testing::ElementsAre("allocate 100 on a", "wait", "free on none"));
}

/// There is one for each device, or even for each thread, under one handle.
TEST_F(MemoryBridgeTest, ADefaultStreamIsNotPassedOn) {
  for (const std::uintptr_t handle : {1U, 2U}) {
    current_ = reinterpret_cast<void*>(handle);
    bridge_.free(bridge_.allocate(100, kDevice, current_));
    EXPECT_THAT(story_, testing::ElementsAre("allocate 100 on none", "wait", "free on none"));
    story_.clear();
  }
}

TEST_F(MemoryBridgeTest, CountsWhatIsInUseAndTheMost) {
  void* const first = bridge_.allocate(100, kDevice, nullptr);
  void* const second = bridge_.allocate(50, kDevice, nullptr);
  bridge_.free(first);
  EXPECT_EQ(bridge_.figures(kDevice).in_use, 50);
  EXPECT_EQ(bridge_.figures(kDevice).held, 50);
  EXPECT_EQ(bridge_.figures(kDevice).peak, 150);
  bridge_.reset_peak(kDevice);
  EXPECT_EQ(bridge_.figures(kDevice).peak, 50);
  bridge_.free(second);
  EXPECT_EQ(bridge_.figures(kDevice).in_use, 0);
}

TEST_F(MemoryBridgeTest, NoBytesAreNoBlock) {
  EXPECT_EQ(bridge_.allocate(0, kDevice, nullptr), nullptr);
  bridge_.free(nullptr);
  EXPECT_TRUE(story_.empty());
}

TEST_F(MemoryBridgeTest, BeyondTheBudgetTheFrameworkIsNotAsked) {
  const std::size_t in_use = memory_figures(kDevice).all.now;
  memory_budget(kDevice, in_use + 1000);
  void* const data = bridge_.allocate(900, kDevice, nullptr);
  story_.clear();
  EXPECT_THAT([&] { bridge_.allocate(101, kDevice, nullptr); },
              ThrowsMessage<DeviceFullError>(AllOf(HasSubstr("requested 101 bytes"),
                                                   HasSubstr(std::to_string(in_use + 1000)),
                                                   HasSubstr(std::to_string(in_use + 900)))));
  EXPECT_TRUE(story_.empty());
  bridge_.free(data);
  bridge_.free(bridge_.allocate(1000, kDevice, nullptr));
  EXPECT_EQ(memory_figures(kDevice).all.now, in_use);
}

TEST_F(MemoryBridgeTest, AFrameworkWithoutMemoryIsATypedErrorThatSaysWhatWasAsked) {
  const std::size_t in_use = memory_figures(kDevice).all.now;
  const auto asking = [](TorchAllocator allocator) {
    return [allocator = std::move(allocator)] {
      MemoryBridge bridge(
          allocator, [] { return nullptr; }, [](Device) {});
      bridge.allocate(77, kDevice, nullptr);
    };
  };
  TorchAllocator empty = framework();
  empty.allocate = [](std::size_t, Device, void*) { return nullptr; };
  EXPECT_THAT(asking(empty), ThrowsMessage<DeviceFullError>(
                                 AllOf(HasSubstr("77 bytes on cpu"), HasSubstr("no more memory"))));
  TorchAllocator throwing = framework();
  throwing.allocate = [](std::size_t, Device, void*) -> void* {
    throw std::runtime_error("pool 3 is full");
  };
  EXPECT_THAT(asking(throwing), ThrowsMessage<DeviceFullError>(HasSubstr("pool 3 is full")));
  EXPECT_EQ(memory_figures(kDevice).all.now, in_use);
}

TEST_F(MemoryBridgeTest, MemoryThatIsNotAlignedIsGivenBackAndRefused) {
  alignas(256) static std::array<std::byte, 512> memory{};
  TorchAllocator crooked = framework();
  void* back = nullptr;
  crooked.allocate = [](std::size_t, Device, void*) -> void* { return memory.data() + 128; };
  crooked.free = [&back](void* data, Device, void*) { back = data; };
  MemoryBridge bridge(
      crooked, [] { return nullptr; }, [](Device) {});
  EXPECT_THAT([&] { bridge.allocate(8, kDevice, nullptr); },
              ThrowsMessage<ConfigError>(HasSubstr("not aligned to 256 bytes")));
  EXPECT_EQ(back, memory.data() + 128);
}

TEST_F(MemoryBridgeTest, ThreadsMayAllocateAndFreeEachOthersBlocks) {
  std::vector<void*> blocks(400);
  const auto quiet = [](std::size_t, Device, void*) { return std::aligned_alloc(256, 256); };
  MemoryBridge bridge(
      {.allocate = quiet, .free = [](void* data, Device, void*) { std::free(data); }},
      [] { return nullptr; }, [](Device) {});
  const auto each = [&](auto&& work) {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t i = t; i < blocks.size(); i += 4) work(i);
      });
    }
  };
  each([&](std::size_t i) { blocks[i] = bridge.allocate(8, kDevice, nullptr); });
  EXPECT_EQ(bridge.figures(kDevice).in_use, 8 * blocks.size());
  each([&](std::size_t i) { bridge.free(blocks[blocks.size() - 1 - i]); });
  EXPECT_EQ(bridge.figures(kDevice).in_use, 0);
}

}  // namespace
}  // namespace tensoa::pytorch
