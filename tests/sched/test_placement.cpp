// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/sched/placement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/fake_engine.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/core/log.hpp"

namespace tensoa::sched {
namespace {

using namespace std::chrono_literals;
using test::FakeEngines;
using test::Points;
using test::Scores;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::ThrowsMessage;

constexpr Device kCpu = Device::cpu();
constexpr Device kGpu = Device::cuda(0);

/// The variable as a test wants it, and as it was.
class PlacementVariable {
 public:
  explicit PlacementVariable(const char* value) { setenv("TENSOA_PLACEMENT", value, 1); }
  ~PlacementVariable() { unsetenv("TENSOA_PLACEMENT"); }
  PlacementVariable(const PlacementVariable&) = delete;
  PlacementVariable& operator=(const PlacementVariable&) = delete;
};

// ---- the choice

/// A CPU that takes 0.1 us a row, a GPU that takes 5 us and has 10 us of transfers.
Placement typical() {
  Placement placement("mlp.pt2");
  placement.add(kCpu, {.rows = 16, .call_us = 1.6});
  placement.add(kCpu, {.rows = 1000, .call_us = 100});
  placement.add(kGpu, {.rows = 16, .call_us = 5.2, .transfer_us = 9.8});
  placement.add(kGpu, {.rows = 1000, .call_us = 5.2, .transfer_us = 9.8});
  return placement;
}

TEST(Placement, ASmallBatchStaysAndALargeOneGoesWhereItIsDoneSooner) {
  const Placement placement = typical();
  for (const std::size_t rows : {0U, 1U, 16U, 149U})
    EXPECT_EQ(placement.device(rows), kCpu) << rows;
  for (const std::size_t rows : {152U, 1000U, 5'000'000U}) {
    EXPECT_EQ(placement.device(rows), kGpu) << rows;
  }
}

TEST(Placement, TransfersArePartOfTheCost) {
  Placement placement("mlp");
  placement.add(kCpu, {.rows = 100, .call_us = 10});
  placement.add(kGpu, {.rows = 100, .call_us = 5});
  EXPECT_EQ(placement.device(100), kGpu);
  placement.add(kGpu, {.rows = 100, .call_us = 5, .transfer_us = 6});  // in its place
  EXPECT_EQ(placement.device(100), kCpu);
}

TEST(Placement, BeyondTheLargestBatchCostsGrowInProportion) {
  Placement placement("mlp");
  placement.add(kGpu, {.rows = 1000, .call_us = 1, .transfer_us = 9});  // 10 us for 1000 rows
  placement.add(kCpu, {.rows = 100, .call_us = 2});                     // 20 us
  EXPECT_EQ(placement.device(400), kCpu);
  EXPECT_EQ(placement.device(1000), kGpu);
  EXPECT_EQ(placement.device(1'000'000), kGpu);
}

TEST(Placement, CostsMayComeInAnyOrder) {
  Placement placement("mlp");
  placement.add(kCpu, {.rows = 1000, .call_us = 1000});
  placement.add(kCpu, {.rows = 10, .call_us = 10});
  placement.add(kCpu, {.rows = 100, .call_us = 100});
  placement.add(kGpu, {.rows = 1, .call_us = 50});
  placement.add(kGpu, {.rows = 1000, .call_us = 50});
  EXPECT_EQ(placement.device(40), kCpu);
  EXPECT_EQ(placement.device(60), kGpu);
}

TEST(Placement, ExplainsTheChoiceInOneLine) {
  const Placement placement = typical();
  EXPECT_EQ(placement.explain(16),
            "placed mlp.pt2, 16 rows, on cpu: 1.6 us against 5.2 us + 9.8 us transfers on cuda:0");
  EXPECT_EQ(
      placement.explain(1000),
      "placed mlp.pt2, 1000 rows, on cuda:0: 5.2 us + 9.8 us transfers against 100.0 us on cpu");
  Placement alone("mlp");
  alone.add(kCpu, {.rows = 1, .call_us = 2});
  EXPECT_EQ(alone.explain(1), "placed mlp, 1 row, on cpu: 2.0 us; no other device was measured");
}

TEST(Placement, WithoutCostsThereIsNothingToChooseBy) {
  const Placement placement("mlp");
  const auto complains = ThrowsMessage<ConfigError>(
      AllOf(HasSubstr("Placement of mlp: nothing was measured"), HasSubstr("call measure()")));
  EXPECT_THAT([&] { placement.device(1); }, complains);
  EXPECT_THAT([&] { placement.explain(1); }, complains);
  EXPECT_THAT([&] { Placement("mlp").add(kCpu, {.rows = 0, .call_us = 1}); },
              ThrowsMessage<ConfigError>(HasSubstr("0 rows")));
}

// ---- the last word

TEST(Placement, TheProgramMayNameTheDevice) {
  const Placement placement("mlp", kGpu);
  EXPECT_EQ(placement.device(1), kGpu);
  EXPECT_EQ(placement.explain(1), "placed mlp, 1 row, on cuda:0: as the program wants it");
}

TEST(Placement, WhoRunsTheProgramMayNameTheDevice) {
  const PlacementVariable variable("cpu");
  Placement placement("mlp", kGpu);
  placement.add(kGpu, {.rows = 1, .call_us = 1});
  EXPECT_EQ(placement.device(1), kCpu);
  EXPECT_EQ(placement.explain(1), "placed mlp, 1 row, on cpu: as TENSOA_PLACEMENT=cpu wants it");
}

TEST(Placement, WhoRunsTheProgramMayAskForAChoice) {
  const PlacementVariable variable("auto");
  Placement placement("mlp", kGpu);
  placement.add(kCpu, {.rows = 1, .call_us = 1});
  EXPECT_EQ(placement.device(1), kCpu);
}

TEST(Placement, AVariableThatIsNoDeviceIsRefused) {
  {
    const PlacementVariable variable("fastest");
    EXPECT_THAT(
        [] { Placement("mlp"); },
        ThrowsMessage<ConfigError>(AllOf(HasSubstr("TENSOA_PLACEMENT"), HasSubstr("fastest"))));
  }
  const PlacementVariable variable("cuda:4711");
  EXPECT_THAT(
      [] { Placement("mlp"); },
      ThrowsMessage<DeviceError>(AllOf(HasSubstr("TENSOA_PLACEMENT"), HasSubstr("cuda:4711"))));
}

// ---- measuring

class PlacementOfAModel : public testing::Test {
 protected:
  PlacementOfAModel() {
    messages().clear();
    set_log_sink([](LogLevel level, std::string_view message) {
      if (level == LogLevel::kInfo) messages().emplace_back(message);
    });
  }
  void TearDown() override { set_log_sink(nullptr); }

  static std::vector<std::string>& messages() {
    static std::vector<std::string> all;
    return all;
  }

  Plan<Points, Scores> plan() { return Plan(metadata(points_)); }

  ModelMetadata<Points, Scores> metadata(const PortableCollection<Points>& points) {
    SoAMetadata<Points> inputs(points.size());
    inputs.append_block("x", points.const_view().records().x());
    SoAMetadata<Scores> outputs(scores_.size());
    outputs.append_block("score", scores_.view().records().score());
    return ModelMetadata(inputs, outputs);
  }

  test::TemporaryFile file_{"model.fake"};
  const Model<> model_ = (FakeEngines::reset(), Model<>(file_.path()));
  PortableCollection<Points> points_{100, kCpu};
  PortableCollection<Scores> scores_{100, kCpu};
};

TEST_F(PlacementOfAModel, ItsSpeedDecides) {
  for (const auto& [time, chosen] : {std::pair{200us, kCpu}, std::pair{2000us, kGpu}}) {
    Placement placement("model.fake");
    placement.add(kGpu, {.rows = 100, .call_us = 800});
    FakeEngines::get().time_of_run = time;
    placement.measure(kCpu, model_, plan(), points_, scores_);
    EXPECT_EQ(placement.device(100), chosen);
  }
}

TEST_F(PlacementOfAModel, TheChoiceIsLoggedInOneLineForEachSizeOfBatch) {
  Placement placement("model.fake");
  placement.measure(kCpu, model_, plan(), points_, scores_);
  EXPECT_THAT(messages(), IsEmpty());  // no choice yet
  placement.add(kGpu, {.rows = 100, .call_us = 1e6, .transfer_us = 7});
  placement.measure(kCpu, model_, plan(), points_, scores_);
  EXPECT_THAT(messages(),
              ElementsAre(MatchesRegex("placed model.fake, 100 rows, on cpu: [0-9.]+ us against "
                                       "1000000.0 us \\+ 7.0 us transfers on cuda:0")));
}

TEST_F(PlacementOfAModel, TheModelRunsOnCopiesOfTheBatch) {
  points_.view().x[7] = 3.F;
  scores_.view().score[7] = 5.F;
  Placement("model.fake").measure(kCpu, model_, plan(), points_, scores_);
  EXPECT_EQ(points_.view().x[7], 3.F);
  EXPECT_EQ(scores_.view().score[7], 5.F);
  ASSERT_FALSE(FakeEngines::get().calls.empty());
  for (const Binding& call : FakeEngines::get().calls) {
    EXPECT_NE(call.inputs[0].tensor.data, points_.view().x.data());
    EXPECT_NE(call.outputs[0].tensor.data, scores_.view().score.data());
    EXPECT_EQ(call.inputs[0].tensor.size_of_dim[0], 100);
  }
}

TEST_F(PlacementOfAModel, TheGroupsOfABatchEndWhereTheyDid) {
  using test::Groups;
  for (const std::size_t capacity : {4U, 9U}) {  // as much room as is needed, and more
    PortableCollection<Groups> groups(capacity, kCpu);
    for (int i = 0; i < 4; ++i) groups.view().offsets[static_cast<std::size_t>(i)] = 30 * i;
    groups.resize(3);
    SoAMetadata<Points, Groups> inputs(100, 3);
    inputs.append_padded("x", groups.view().records().offsets(), 50, points_.view().records().x());
    SoAMetadata<Scores> outputs(100);
    outputs.append_block("score", scores_.view().records().score());
    int runs = 0;
    FakeEngines::get().look = [&](const Binding& binding) {
      ++runs;
      const TensorView& offsets = binding.inputs[0].sources.back();
      EXPECT_NE(offsets.data, groups.view().offsets.data());
      const auto* const begin = static_cast<const std::int32_t*>(offsets.data);
      EXPECT_THAT(std::vector(begin, begin + offsets.size_of_dim[0]), ElementsAre(0, 30, 60, 90));
    };
    Placement("model.fake")
        .measure(kCpu, model_, Plan(ModelMetadata(inputs, outputs)), points_, groups, scores_);
    EXPECT_GT(runs, 0);
  }
}

TEST_F(PlacementOfAModel, OfABatchThatWasMovedFromIsRefused) {
  const PortableCollection<Points> moved = std::move(points_);
  EXPECT_THAT(
      [&] {
        Placement("model.fake").measure(kCpu, model_, Plan(metadata(moved)), points_, scores_);
      },
      ThrowsMessage<ConfigError>(HasSubstr("it was moved from")));
}

TEST_F(PlacementOfAModel, AModelThatTakesLongIsNotRunOftenToMeasureIt) {
  FakeEngines::get().time_of_run = 15ms;
  Placement("model.fake").measure(kCpu, model_, plan(), points_, scores_);
  EXPECT_LE(FakeEngines::get().calls.size(), 3U);  // one to warm up
}

TEST_F(PlacementOfAModel, IsNotLoadedWhereItWillNotRun) {
  Placement placement("model.fake", kGpu);
  placement.measure(kCpu, model_, plan(), points_, scores_);
  EXPECT_EQ(FakeEngines::get().loads, 0);
}

TEST_F(PlacementOfAModel, ThatFailsHasNoCost) {
  FakeEngines::get().runs_to_fail = 1;
  Placement placement("model.fake");
  EXPECT_THROW(placement.measure(kCpu, model_, plan(), points_, scores_), EngineError);
  EXPECT_THROW(placement.device(1), ConfigError);
}

TEST_F(PlacementOfAModel, OnAGpuTheTransfersOfColumnsThatLieElsewhereAreMeasured) {
  if (device_count(DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
  Placement from_host("model.fake");
  from_host.add(kCpu, {.rows = 100, .call_us = 1e6});
  from_host.measure(kGpu, model_, plan(), points_, scores_);
  EXPECT_THAT(from_host.explain(100), HasSubstr("us transfers against"));
  PortableCollection<Points> points(100, kGpu);
  PortableCollection<Scores> scores(100, kGpu);
  Placement from_gpu("model.fake");
  from_gpu.measure(kGpu, model_, plan(), points, scores);
  EXPECT_THAT(from_gpu.explain(100), Not(HasSubstr("transfers")));
  from_gpu.measure(kCpu, model_, plan(), points, scores);
  EXPECT_THAT(from_gpu.explain(100), HasSubstr("us transfers on cpu"));
}

}  // namespace
}  // namespace tensoa::sched
