// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "package/fused_columns.hpp"
#include "pytorch/copy_truth.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/package/engines.hpp"
#include "tensoa/package/impl/per_queue.hpp"
#include "tensoa/package/options.hpp"
#include "tensoa/soa/slice.hpp"

// The cost of a call of a fused program, seen by copy_truth.cpp, which needs torch.

namespace tensoa {
namespace {

using namespace test;
using AotModel = Model<CompilationType::kAheadOfTime>;

class FusedAllocations : public testing::Test {
 protected:
  void SetUp() override { package::register_engines(); }

  Queue queue_{Device::cpu()};
};

TEST_F(FusedAllocations, ACallAllocatesNothingAndTakesNoLock) {
  const AotModel model(fused_package("fused"));
  const auto in = points(1000);
  auto out = answers(1000);
  auto plan = model.plan(mlp_metadata(in.const_view(), out.view()));
  model.forward(queue_, plan);
  const Seen seen = watch({}, 1, [&] {
    for (const std::size_t rows : {1000U, 1U, 500U}) {
      plan.rebind(slice(in.const_view(), 0, rows), slice(out.view(), 0, rows));
      model.forward(queue_, plan);
    }
  });
  EXPECT_EQ(seen.allocations, 0U) << seen.story;
  EXPECT_EQ(seen.locks, 0U);
}

TEST_F(FusedAllocations, AWarmedUpModelAllocatesNothingInItsFirstCall) {
  const auto in = points(1000);
  auto out = answers(1000);
  std::jthread([&] {  // has no workspace yet
    const AotModel model(fused_package("fused"));
    auto plan = model.plan(mlp_metadata(in.const_view(), out.view()));
    model.warm_up(queue_, plan, 1000, 1000);
    expect_sums(out, 0, 0);
    const Seen seen = watch({}, 1, [&] { model.forward(queue_, plan); });
    EXPECT_EQ(seen.allocations, 0U) << seen.story;
  })
      .join();
  expect_sums(out, 0, 1000);
}

TEST_F(FusedAllocations, EventsInFixedBuffersAllocateNothingAndTakeNoLock) {
  const Queue& queue = queue_;
  const std::string file = fused_package("fused").string();
  const auto in = points(16);
  auto out = answers(16);
  const auto metadata = mlp_metadata(in.const_view(), out.view());
  const auto events = {1, 2, 3};
  // [latency]
  const Model<> model(file, package::Options{.cuda_graphs = true});  // the CPU has no graphs
  const auto plan = model.plan(metadata);                            // buffers, bound once
  model.warm_up(queue, plan, 16, 16);                                // rows of inputs and outputs
  const auto loop = [&] {
    for ([[maybe_unused]] const auto& event : events) {
      // the event's numbers are written into the buffer
      model.forward(queue, plan);
      queue.wait();  // on the CPU the answer is there already
      // the decision is read from the buffer
    }
  };
  // [/latency]
  const Seen seen = watch({}, 1, loop);
  expect_sums(out, 0, 16);
  EXPECT_EQ(seen.allocations, 0U) << seen.story;
  EXPECT_EQ(seen.locks, 0U);
}

TEST_F(FusedAllocations, ASubmittedCallTakesNoLockAndAllocatesItsCompletionAlone) {
  const AotModel model(fused_package("fused"));
  const auto in = points(10);
  auto out = answers(10);
  const auto plan = model.plan(mlp_metadata(in.const_view(), out.view()));
  model.forward(queue_, plan);
  bool is_done = false;
  const Seen seen = watch({}, 1, [&] {
    model.submit(queue_, plan, [&](const Result<CopyReport>& result) { is_done = bool(result); });
  });
  EXPECT_TRUE(is_done);
  EXPECT_EQ(seen.allocations, 1U) << seen.story;
  EXPECT_EQ(seen.locks, 0U);
}

/// The record of a lock: the tests above could not fail otherwise.
TEST_F(FusedAllocations, ALockIsSeen) {
  std::mutex mutex;
  EXPECT_EQ(watch({}, 1, [&] { const std::lock_guard lock(mutex); }).locks, 1U);
}

/// An engine gives memory back while a call ends by an exception, and where there is no memory left.
TEST_F(FusedAllocations, GivingMemoryOfAQueueBackAllocatesNothing) {
  package::PerQueue<int> pool;
  std::optional<package::PerQueue<int>::LoanWhenNeeded> loan(std::in_place, pool, queue_);
  **loan = 5;
  EXPECT_EQ(watch({}, 1, [&] { loan.reset(); }).allocations, 0U);
  EXPECT_EQ(*package::PerQueue<int>::LoanWhenNeeded(pool, queue_), 5);
}

}  // namespace
}  // namespace tensoa
