// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0

// Models between kernels, on alpaka's queues.

#include <array>
#include <cstddef>
#include <string>

#include "alpaka_fixture.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/pytorch/engines.hpp"

namespace tensoa {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// 2 x + 1 of three columns.
const std::string kAffine = TENSOA_TEST_MODELS "affine.pt";
/// Three columns into two, as TorchScript and as a package.
const std::string kMlp = TENSOA_TEST_MODELS "mlp.pt";
const std::string kMlpPackage =
    std::string(TENSOA_TEST_PACKAGES "mlp-") + (kOnCpu ? "cpu" : "cuda") + ".pt2";

/// m = m + n, to be run after the model.
struct AddColumns {
  View<Answers> answers;

  ALPAKA_FN_HOST_ACC void operator()(std::size_t i) const { answers.m[i] += answers.n[i]; }
};

ModelMetadata<Points, Answers> metadata_of(ConstView<Points> points, View<Answers> answers,
                                           bool three) {
  SoAMetadata<Points> inputs(points.size());
  inputs.append_block("features", points.records().x(), points.records().y(), points.records().z());
  SoAMetadata<Answers> outputs(answers.size());
  const auto records = answers.records();
  if (three) {
    outputs.append_block("preds", records.m(), records.n(), records.o());
  } else {
    outputs.append_block("preds", records.m(), records.n());
  }
  return {inputs, outputs};
}

class AlpakaModel : public AlpakaTest {
 protected:
  void SetUp() override {
    AlpakaTest::SetUp();
    pytorch::register_engines();
  }

  /// The two columns of the MLP, filled by alpaka, run on `run_on`.
  template <class Queue>
  PortableCollection<Answers> mlp(const std::string& path, const Queue& run_on, std::size_t rows) {
    PortableCollection<Points, AlpakaDevice> points(rows, device());
    PortableCollection<Answers, AlpakaDevice> answers(rows, device());
    accel::for_each_row<Acc>(queue(), rows, SlowFill{points.view()});
    alpaka::wait(queue());
    Model<> model(path);
    model.to(run_on);
    model.forward(metadata_of(points.const_view(), answers.view(), false));
    QueueTraits<Queue>::get(run_on).wait();
    return download(answers);
  }
};

TEST_F(AlpakaModel, RunsBetweenKernelsOfOneQueueWithoutWaiting) {
  constexpr std::size_t kRows = 100'003;
  PortableCollection<Points, AlpakaDevice> points(kRows, device());
  PortableCollection<Answers, AlpakaDevice> answers(kRows, device());
  const auto metadata = metadata_of(points.const_view(), answers.view(), true);

  Model<CompilationType::kJustInTime> model(kAffine);
  model.to(queue());
  for (int call = 0; call < 3; ++call) {
    accel::for_each_row<Acc>(queue(), kRows, SlowFill{points.view()});
    model.forward(metadata);
    accel::for_each_row<Acc>(queue(), kRows, AddColumns{answers.view()});
  }

  const auto host = download(answers);
  const auto view = host.const_view();
  for (std::size_t i = 0; i < kRows; ++i) {
    const auto x = static_cast<float>(i) + 1000.F;
    ASSERT_EQ(view.m[i], (2.F * x + 1.F) + (4.F * x + 1.F)) << "row " << i;
    ASSERT_EQ(view.o[i], 1.F - 2.F * x) << "row " << i;
  }
}

TEST_F(AlpakaModel, PlansAreReboundAndRunOnTheQueue) {
  PortableCollection<Points, AlpakaDevice> points(64, device());
  PortableCollection<Answers, AlpakaDevice> answers(64, device());
  const Model<> model(kAffine);
  // [plan]
  auto plan = model.plan(metadata_of(points.const_view(), answers.view(), true));
  for (const std::size_t rows : {64U, 1U, 17U}) {
    points.resize(rows);
    answers.resize(rows);
    plan.rebind(points.const_view(), answers.view());
    accel::for_each_row<Acc>(queue(), rows, SlowFill{points.view()});
    model.forward(queue(), plan);
  }
  // [/plan]
  answers.resize(64);
  const auto host = download(answers);
  EXPECT_EQ(host.const_view().m[63], 2.F * 1063.F + 1.F);
}

TEST_F(AlpakaModel, AnswersAreThoseOfAQueueOfOurs) {
  for (const std::string& path : {kMlp, kMlpPackage}) {
    const auto alpakas = mlp(path, queue(), 1000);
    const auto ours = mlp(path, Queue(kDevice), 1000);
    for (std::size_t i = 0; i < 1000; ++i) {
      ASSERT_EQ(alpakas.const_view().m[i], ours.const_view().m[i]) << path << ", row " << i;
      ASSERT_EQ(alpakas.const_view().n[i], ours.const_view().n[i]) << path << ", row " << i;
    }
  }
}

TEST_F(AlpakaModel, APackageAnswersAsTorchScriptDoes) {
  const auto script = mlp(kMlp, queue(), 257);
  const auto package = mlp(kMlpPackage, queue(), 257);
  for (std::size_t i = 0; i < 257; ++i) {
    // Relative to the inputs, which are up to 2000 and cancel.
    ASSERT_NEAR(package.const_view().m[i], script.const_view().m[i], 1e-5 * 2000.) << "row " << i;
  }
}

TEST_F(AlpakaModel, RunsOnMemoryThatAlpakaAllocated) {
  constexpr std::size_t n = 1000;
  // Three rows of one buffer have one pitch, so they are one tensor.
  auto in = alpaka::allocBuf<float, std::size_t>(device(),
                                                 alpaka::Vec<alpaka::DimInt<2>, std::size_t>{3, n});
  const std::size_t pitch = alpaka::getPitchesInBytes(in)[0] / sizeof(float);
  float* const x = alpaka::getPtrNative(in);
  const auto points = foreign_view<Points>(n, device(), x, x + pitch, x + 2 * pitch);
  PortableCollection<Answers, AlpakaDevice> answers(n, device());

  Model<> model(kAffine);
  model.to(queue());
  accel::for_each_row<Acc>(queue(), n, SlowFill{points});
  const CopyReport report = model.forward(metadata_of(
      foreign_const_view<Points>(n, device(), x, x + pitch, x + 2 * pitch), answers.view(), true));
  EXPECT_EQ(report.bytes_in, 0U);
  EXPECT_EQ(download(answers).const_view().n[n - 1], 4.F * 1999.F + 1.F);
}

TEST_F(AlpakaModel, ANonBlockingCpuQueueIsRefusedAndNothingRuns) {
  const auto host = accel::alpaka_device<alpaka::DevCpu>(Device::cpu());
  const alpaka::Queue<alpaka::DevCpu, alpaka::NonBlocking> nonblocking(host);
  PortableCollection<Points, alpaka::DevCpu> points(1, host);
  PortableCollection<Answers, alpaka::DevCpu> answers(1, host);
  answers.view().m[0] = -77.F;
  Model<> model(kAffine);
  const auto plan = model.plan(metadata_of(points.const_view(), answers.view(), true));
  EXPECT_THAT([&] { model.to(nonblocking); },
              ThrowsMessage<ConfigError>(HasSubstr("NonBlocking alpaka queue of the CPU")));
  EXPECT_THAT([&] { model.forward(nonblocking, plan); },
              ThrowsMessage<ConfigError>(HasSubstr("NonBlocking alpaka queue of the CPU")));
  EXPECT_EQ(answers.view().m[0], -77.F);
}

TEST_F(AlpakaModel, AQueueOfAnotherDeviceThanTheColumnsIsAnErrorThatNamesBoth) {
  alignas(kAlignment) std::array<std::array<float, 32>, 3> memory{};
  const auto elsewhere =
      foreign_const_view<Points>(32, kOtherKind, memory[0], memory[1], memory[2]);
  PortableCollection<Answers, AlpakaDevice> answers(32, device());
  Model<> model(kAffine);
  model.to(queue());
  EXPECT_THAT([&] { model.forward(metadata_of(elsewhere, answers.view(), true)); },
              ThrowsMessage<BindingError>(
                  AllOf(HasSubstr(to_string(kOtherKind)), HasSubstr(to_string(kDevice)))));
}

}  // namespace
}  // namespace tensoa
