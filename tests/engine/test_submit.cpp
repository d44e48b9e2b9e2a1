// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Model::submit, on the CPU, on GPUs that are there, and on simulated ones.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "copy_engine.hpp"
#include "fake_engine.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/memory.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {
namespace {

using test::CopyEngine;
using test::FakeEngines;
using test::Points;
using test::Scores;
using test::TemporaryFile;
using testing::HasSubstr;
using testing::ThrowsMessage;

class Submit : public testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    if (!device_.is_cpu() && device_count(device_.kind) == 0) GTEST_SKIP() << "no CUDA device";
    FakeEngines::reset();
    test::register_engine_of<CopyEngine>("Copy", ".copy");
    queue_.emplace(device_);
    points_.emplace(4, device_);
    scores_.emplace(4, device_);
  }

  ModelMetadata<Points, Scores> metadata() {
    SoAMetadata<Points> inputs(4);
    inputs.append_block("x", points_->view().records().x());
    SoAMetadata<Scores> outputs(4);
    outputs.append_block("score", scores_->view().records().score());
    return ModelMetadata(inputs, outputs);
  }

  const Device device_ = GetParam();
  TemporaryFile copy_{"model.copy"};
  TemporaryFile fake_{"model.fake"};
  std::optional<Queue> queue_;
  std::optional<PortableCollection<Points>> points_;
  std::optional<PortableCollection<Scores>> scores_;
};

TEST_P(Submit, CallsOnceWithTheReportWhenTheOutputsAreWritten) {
  const Model<> model(copy_.path());
  const Plan plan = model.plan(metadata());
  zero_bytes(*queue_, points_->data(), points_->bytes());
  std::promise<Result<CopyReport>> done;
  std::atomic<int> calls = 0;
  model.submit(*queue_, plan, [&](Result<CopyReport> result) {
    ++calls;
    done.set_value(std::move(result));
  });
  const Result<CopyReport> result = done.get_future().get();
  ASSERT_TRUE(result) << result.message();
  EXPECT_EQ(result->bytes_out, 4 * sizeof(float));
  queue_->wait();
  EXPECT_EQ(calls, 1);
}

TEST_P(Submit, GivesTheErrorOfTheRunToTheCompletion) {
  const Model<> model(fake_.path());
  const Plan plan = model.plan(metadata());
  FakeEngines::get().runs_to_fail = 1;
  std::string message;
  model.submit(*queue_, plan, [&](Result<CopyReport> result) {
    EXPECT_FALSE(result);
    EXPECT_THROW(static_cast<void>(result.value()), EngineError);
    message = result.message();
  });
  EXPECT_EQ(message, "the fake engine failed on demand");
}

TEST_P(Submit, WrongUseThrowsAndCallsNothing) {
  const Model<> model(copy_.path());
  Plan plan = model.plan(metadata());
  int calls = 0;
  const auto count = [&](const Result<CopyReport>&) { ++calls; };
  EXPECT_THAT([&] { model.submit(*queue_, plan, {}); },
              ThrowsMessage<ConfigError>(HasSubstr("got no function to call")));
  EXPECT_THAT([&] { Model<>(copy_.path()).submit(*queue_, plan, count); },
              ThrowsMessage<ConfigError>(HasSubstr("got a plan that another model made")));
  EXPECT_THROW(plan.rebind(points_->view(), scores_->const_view()), BindingError);
  EXPECT_THAT([&] { model.submit(*queue_, plan, count); },
              ThrowsMessage<BindingError>(HasSubstr("the last rebind of this plan failed")));
  EXPECT_EQ(calls, 0);
}

TEST_P(Submit, OfNoRowsIsDoneToo) {
  const Model<> model(copy_.path());
  Plan plan = model.plan(metadata());
  points_->resize(0);
  scores_->resize(0);
  plan.rebind(points_->const_view(), scores_->view());
  std::promise<CopyReport> done;
  model.submit(*queue_, plan, [&](Result<CopyReport> result) { done.set_value(result.value()); });
  EXPECT_EQ(done.get_future().get(), CopyReport{});
}

TEST_P(Submit, NeedsThePlanNoMoreOnceItHasReturned) {
  const Model<> model(copy_.path());
  std::optional<Plan<Points, Scores>> plan = model.plan(metadata());
  const auto held = std::make_shared<int>(0);
  std::promise<bool> done;
  model.submit(*queue_, *plan,
               [&done, held = std::make_unique<std::shared_ptr<int>>(held)](
                   const Result<CopyReport>& result) { done.set_value(result.has_value()); });
  plan.reset();
  EXPECT_TRUE(done.get_future().get());
  queue_->wait();
  while (held.use_count() > 1) std::this_thread::yield();  // after the call it is destroyed
}

TEST_P(Submit, FromManyThreadsCallsEachOfThem) {
  const Model<> model(copy_.path());
  constexpr int kThreads = 8;
  constexpr int kCalls = 50;
  std::atomic<int> good = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        const Queue queue(device_);
        PortableCollection<Points> points(4, device_);
        PortableCollection<Scores> scores(4, device_);
        Plan plan = model.plan(model.plan(metadata()), points.const_view(), scores.view());
        for (int call = 0; call < kCalls; ++call) {
          model.submit(queue, plan, [&](const Result<CopyReport>& result) {
            if (result && result->bytes_out == 16) ++good;
          });
        }
        queue.wait();
      });
    }
  }
  while (good < kThreads * kCalls) std::this_thread::yield();
  EXPECT_EQ(good, kThreads * kCalls);
}

INSTANTIATE_TEST_SUITE_P(On, Submit, testing::Values(Device::cpu(), Device::cuda(0)),
                         [](const auto& test) { return test.param.is_cpu() ? "Cpu" : "Cuda"; });

TEST(Completion, IsCalledOnceThoughItIsMoved) {
  int calls = 0;
  Completion first([&, owner = std::make_unique<int>(1)](const Result<CopyReport>& result) {
    calls += *owner;
    EXPECT_TRUE(result);
  });
  Completion second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): it is empty
  second(CopyReport{});
  EXPECT_FALSE(second);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace tensoa
