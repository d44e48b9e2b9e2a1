// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/sched/wait.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <thread>

#include "sched/event_sources.hpp"
#include "support/sanitizers.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"

namespace tensoa::sched {
namespace {

TEST(WaitSuspended, OnTheCpuGoesStraightOn) {
  const std::thread::id here = std::this_thread::get_id();
  wait_suspended(Queue(Device::cpu()));
  EXPECT_EQ(std::this_thread::get_id(), here);
}

/// What an event in flight has for itself.
struct Slot {
  Queue queue;
  Buffer there;
  PinnedBuffer here;
};

TEST(WaitSuspended, GivesEachEventItsOwnAnswer) {
  if (device_count(DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
  if (test::kStacksAreWatched) GTEST_SKIP() << "the sanitizer does not follow a switch of stacks";
  constexpr std::size_t kEvents = 200;
  constexpr std::size_t kBytes = 1'000;
  const Device gpu = Device::cuda(0);
  for (const int threads : {1, 2}) {
    std::deque<Slot> slots;
    for (int i = 0; i < 4 * threads; ++i) {
      slots.push_back({Queue(gpu), Buffer(gpu, kBytes), PinnedBuffer(gpu, kBytes)});
    }
    std::array<bool, kEvents> is_right{};
    const std::size_t delivered =
        test::run_work(kEvents, threads, slots.size(), [&](std::size_t event, std::size_t index) {
          Slot& slot = slots.at(index);
          const auto value = static_cast<std::byte>(event);
          for (std::size_t place = 0; place < 3; ++place) {
            slot.here.data()[place] = value;
            copy_bytes(slot.queue, slot.there.data(), gpu, slot.here.data(), Device::cpu(), kBytes);
            copy_bytes(slot.queue, slot.here.data() + kBytes - 3, Device::cpu(), slot.there.data(),
                       gpu, 3);
            wait_suspended(slot.queue);
            if (slot.here.data()[kBytes - 3 + place] != value) return;
          }
          is_right.at(event) = true;
        });
    EXPECT_EQ(delivered, kEvents);
    EXPECT_TRUE(std::ranges::all_of(is_right, [](bool right) { return right; }));
  }
}

}  // namespace
}  // namespace tensoa::sched
