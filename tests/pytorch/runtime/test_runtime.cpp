// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/pytorch/runtime.hpp"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "pytorch/jit_fixture.hpp"
#include "tensoa/core/memory_budget.hpp"

namespace tensoa {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::size_t kWeightsOfMlp = 4 * (3 * 64 + 64 + 64 * 64 + 64 + 64 * 2 + 2);

class Runtime : public JitTest {
 protected:
  void TearDown() override {
    if (queue_) memory_budget(GetParam(), kNoBudget);
  }

  void run_mlp(const JitModel& model, std::size_t rows) {
    const auto in = upload<Points>(rows, [](auto) {});
    auto out = upload<Answers>(rows, [](auto) {});
    model.forward(*queue_, model.plan(mlp_metadata(in.const_view(), out.view())));
    queue_->wait();
  }

  std::size_t weights() const {
    return memory_figures(GetParam()).of(MemoryPurpose::kWeights).now +
           pytorch::torch_memory(GetParam()).weights;
  }
};
TENSOA_ON_EACH_DEVICE(Runtime);

TEST_P(Runtime, WeightsAreCountedOncePerModelAndForAsLongAsItLives) {
  const std::size_t before = weights();
  {
    const JitModel model(model_file("mlp"));
    run_mlp(model, 10);
    run_mlp(JitModel(model), 100);
    EXPECT_EQ(weights() - before, kWeightsOfMlp);
  }
  EXPECT_EQ(weights(), before);
}

TEST_P(Runtime, ActivationsAreTheTensorsOfACallAndGrowWithItsRows) {
  const JitModel model(model_file("mlp"));
  run_mlp(model, 10);
  const auto activations = [&](std::size_t rows) {
    return pytorch::activations_of(GetParam(), [&] { run_mlp(model, rows); });
  };
  EXPECT_GE(activations(1000), 1000 * 2 * 64 * 4) << "two layers of 64";
  EXPECT_LE(activations(1000), 1000 * 5 * 64 * 4);
  EXPECT_GT(activations(4000), 3 * activations(1000));
  EXPECT_EQ(pytorch::activations_of(GetParam(), [] {}), 0);
  if (!GetParam().is_cpu()) {
    EXPECT_EQ(pytorch::activations_of(Device::cpu(), [&] { run_mlp(model, 1000); }), 0);
  }
}

TEST_P(Runtime, ALoadBeyondTheBudgetIsATypedErrorAndTheModelCanBeLoadedLater) {
  pytorch::release_unused(GetParam());  // what other tests have left would do
  const std::size_t in_use = memory_figures(GetParam()).all.now;
  memory_budget(GetParam(), in_use + 100);
  const JitModel model(model_file("mlp"));
  if (GetParam().is_cpu()) {
    EXPECT_THAT(
        [&] { model.deploy(GetParam()); },
        ThrowsMessage<DeviceFullError>(AllOf(
            HasSubstr("requested " + std::to_string(kWeightsOfMlp)),
            HasSubstr("budget is " + std::to_string(in_use + 100)), HasSubstr("in use are"))));
  } else {
    EXPECT_THAT([&] { model.deploy(GetParam()); },
                ThrowsMessage<DeviceFullError>(
                    AllOf(HasSubstr("torch requested"), HasSubstr("budget is"))));
  }
  memory_budget(GetParam(), kNoBudget);
  run_mlp(model, 10);
}

/// On the CPU torch's own allocations are not bounded.
TEST_P(Runtime, ACallBeyondTheBudgetIsATypedErrorAndSmallerOnesRun) {
  if (GetParam().is_cpu()) GTEST_SKIP() << "for GPUs";
  constexpr std::size_t kManyRows = 2'000'000;
  const JitModel model(model_file("mlp"));
  const auto in = upload<Points>(kManyRows, [](auto) {});
  auto out = upload<Answers>(kManyRows, [](auto) {});
  const auto plan = model.plan(mlp_metadata(in.const_view(), out.view()));
  run_mlp(model, 10);
  const std::size_t held = pytorch::torch_memory(GetParam()).held;
  const std::size_t budget =
      memory_figures(GetParam()).of(MemoryPurpose::kCollections).now + held + (100U << 20U);
  memory_budget(GetParam(), budget);
  EXPECT_THAT([&] { model.forward(*queue_, plan); },
              ThrowsMessage<DeviceFullError>(AllOf(
                  HasSubstr("mlp.pt: failed while running: torch requested"),
                  HasSubstr("budget is " + std::to_string(budget)), HasSubstr("in use are"))));
  run_mlp(model, 1000);
  memory_budget(GetParam(), kNoBudget);
  model.forward(*queue_, plan);
  queue_->wait();
  EXPECT_EQ(memory_figures(GetParam()).of(MemoryPurpose::kEngines).now, 0U)
      << "without a budget torch's memory is not charged any more";
}

TEST_P(Runtime, UnusedMemoryIsReleasedAndCallsAllocateItAgain) {
  const JitModel model(model_file("mlp"));
  run_mlp(model, 100'000);
  const pytorch::TorchMemory before = pytorch::torch_memory(GetParam());
  pytorch::release_unused(GetParam());
  const pytorch::TorchMemory after = pytorch::torch_memory(GetParam());
  if (!GetParam().is_cpu()) {
    EXPECT_GT(before.workspaces, 0);
    EXPECT_LT(after.held, before.held);
    EXPECT_EQ(after.workspaces, 0);
    EXPECT_GE(after.in_use, after.weights);
  }
  run_mlp(model, 100'000);
}

TEST_P(Runtime, WorkspacesOfCublasAreCountedAndCallsDoNotAddToThem) {
  const JitModel model(model_file("mlp"));
  run_mlp(model, 1000);
  const std::size_t once = pytorch::torch_memory(GetParam()).workspaces;
  EXPECT_EQ(once > 0, !GetParam().is_cpu());
  run_mlp(model, 100'000);
  EXPECT_EQ(pytorch::torch_memory(GetParam()).workspaces, once);
}

/// The calls that are not tensoa's own, in order.
std::vector<std::string> environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("TENSOA_")) variables.emplace_back(*variable);
  }
  std::ranges::sort(variables);
  return variables;
}

const std::vector<std::string> at_the_start = environment();

// Torch parses CUBLAS_WORKSPACE_CONFIG with a regular expression at each matrix product (2.11): set by
// tensoa, it made small calls of all models in the process six times slower (decision 0026).
TEST_P(Runtime, TheEnvironmentOfTheProcessIsLeftAsItIs) {
  pytorch::register_engines();
  run_mlp(JitModel(model_file("mlp")), 100);
  EXPECT_EQ(environment(), at_the_start);
}

TEST(RuntimeNoDevice, IsATypedError) {
  const Device none = Device::cuda(63);
  EXPECT_THROW(pytorch::release_unused(none), DeviceError);
  EXPECT_THROW(static_cast<void>(pytorch::torch_memory(none)), DeviceError);
  EXPECT_THROW(pytorch::reset_torch_peak(none), DeviceError);
  EXPECT_THROW(pytorch::activations_of(none, [] {}), DeviceError);
}

}  // namespace
}  // namespace tensoa
