// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <utility>

#include "package/fused_columns.hpp"
#include "pytorch/copy_truth.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/package/engines.hpp"
#include "tensoa/package/impl/per_queue.hpp"
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

TEST_F(FusedAllocations, ACallAllocatesNothing) {
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
