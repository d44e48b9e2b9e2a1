// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/engine/model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "fake_engine.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/soa/portable_collection.hpp"
#include "tensoa/soa/slice.hpp"

namespace tensoa {
namespace {

using test::FakeEngines;
using test::Points;
using test::Scores;
using test::TemporaryFile;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class ModelTest : public testing::Test {
 protected:
  void SetUp() override { FakeEngines::reset(); }

  ModelMetadata<Points, Scores> metadata(int input_blocks = 1, std::size_t rows = 10) {
    SoAMetadata<Points> inputs(rows);
    for (int i = 0; i < input_blocks; ++i) {
      inputs.append_block("x" + std::to_string(i), points_.view().records().x());
    }
    SoAMetadata<Scores> outputs(rows);
    outputs.append_block("score", scores_.view().records().score());
    return ModelMetadata(inputs, outputs);
  }

  const Queue queue_{Device::cpu()};
  TemporaryFile file_{"model.fake"};
  PortableCollection<Points> points_{10, Device::cpu()};
  PortableCollection<Scores> scores_{10, Device::cpu()};
};

TEST_F(ModelTest, ForwardRunsTheEngineOnTheBoundColumns) {
  auto model = Model<CompilationType::kJustInTime>(file_.path());
  model.to(queue_);
  const CopyReport report = model.forward(metadata());
  EXPECT_EQ(report, (CopyReport{.bytes_in = 1, .bytes_out = 2}));
  ASSERT_EQ(FakeEngines::get().calls.size(), 1U);
  EXPECT_EQ(FakeEngines::get().calls[0].inputs[0].tensor.data, points_.view().x.data());
  EXPECT_EQ(FakeEngines::get().calls[0].outputs[0].tensor.data, scores_.view().score.data());
}

TEST_F(ModelTest, ForwardOfBoundBlocksIsThatOfTheMetadata) {
  const Model<> model(file_.path());
  const auto points = points_.view().records();
  const auto scores = scores_.view().records();
  const CopyReport report =
      model.forward(queue_, bind("x0", points.x()), bind("score", scores.score()));
  EXPECT_EQ(report, (CopyReport{.bytes_in = 1, .bytes_out = 2}));
  ASSERT_EQ(FakeEngines::get().calls.size(), 1U);
  const auto& call = FakeEngines::get().calls[0];
  EXPECT_EQ(call.inputs[0].name, "x0");
  EXPECT_EQ(call.inputs[0].tensor.data, points_.view().x.data());
  EXPECT_EQ(call.inputs[0].tensor.size_of_dim[0], 10);
  EXPECT_EQ(call.outputs[0].tensor.data, scores_.view().score.data());
}

TEST_F(ModelTest, ForwardWithoutAQueueRunsWhereTheColumnsAre) {
  const Model<> model(file_.path());
  const auto call = [&](std::size_t input_rows, std::size_t output_rows) {
    return model.forward(bind("x0", slice(points_.const_view(), 0, input_rows)),
                         bind("score", slice(scores_.view(), 0, output_rows).records().score()));
  };
  EXPECT_EQ(call(10, 10), (CopyReport{.bytes_in = 1, .bytes_out = 2}));
  ASSERT_EQ(FakeEngines::get().calls.size(), 1U);
  const auto& made = FakeEngines::get().calls[0];
  EXPECT_EQ(made.inputs[0].tensor.data, points_.view().x.data());
  EXPECT_EQ(made.outputs[0].tensor.data, scores_.view().score.data());

  EXPECT_EQ(call(0, 0), CopyReport{});
  EXPECT_EQ(FakeEngines::get().calls.size(), 1U) << "without rows nothing runs";
}

TEST_F(ModelTest, ForwardWithoutAQueueRefusesColumnsOfTwoDevices) {
  const Model<> model(file_.path());
  const View<Scores> elsewhere{scores_.view().columns(), 10, 10, Device::cuda(0)};
  EXPECT_THAT(
      [&] {
        model.forward(bind("x0", points_.const_view()), bind("score", elsewhere.records().score()));
      },
      ThrowsMessage<BindingError>(HasSubstr(
          "block \"score\" lies on cuda:0, block \"x0\" on cpu; all blocks of a call lie on one")));
  EXPECT_TRUE(FakeEngines::get().calls.empty());
}

TEST_F(ModelTest, IsLoadedWhenTheFirstPlanOnADeviceNeedsItAndOnlyOnce) {
  const Model<> model(file_.path());
  EXPECT_EQ(FakeEngines::get().loads, 0);
  const Plan plan = model.plan(metadata());
  EXPECT_EQ(FakeEngines::get().loads, 1);
  model.forward(queue_, plan);
  model.forward(queue_, plan);
  EXPECT_THAT(FakeEngines::get().loaded_on, ElementsAre(Device::cpu()));
}

TEST_F(ModelTest, CopiesShareTheEnginesButNotTheQueue) {
  Model<> model(file_.path());
  Model<> copy = model;
  model.to(queue_);
  EXPECT_THROW(copy.forward(metadata()), ConfigError);
  copy.to(queue_);
  copy.forward(metadata());
  model.forward(metadata());
  EXPECT_EQ(FakeEngines::get().loads, 1);
}

TEST_F(ModelTest, IsLoadedOnceFromManyThreads) {
  const Model<> model(file_.path());
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, plan = model.plan(metadata())] { model.forward(queue_, plan); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(FakeEngines::get().loads, 1);
  EXPECT_EQ(FakeEngines::get().calls.size(), 8U);
}

TEST_F(ModelTest, ALoadThatFailedIsTriedAgain) {
  FakeEngines::get().loads_to_fail = 1;
  const Model<> model(file_.path());
  EXPECT_THROW(model.deploy(Device::cpu()), LoadError);
  EXPECT_THAT(
      model.deploy(Device::cpu()).inputs,
      ElementsAre(testing::Field(&TensorSpec::name, "x"), testing::Field(&TensorSpec::name, "y")));
  EXPECT_EQ(FakeEngines::get().loads, 2);
}

TEST_F(ModelTest, HandsItsOptionsToTheEngine) {
  const Model<> model(file_.path(), test::FakeOptions{.number = 7});
  model.deploy(Device::cpu());
  EXPECT_EQ(FakeEngines::get().options.get<test::FakeOptions>().number, 7);
  Model<>(file_.path()).deploy(Device::cpu());
  EXPECT_EQ(FakeEngines::get().options.get<test::FakeOptions>().number, 0) << "the defaults";
}

TEST_F(ModelTest, OptionsOfAnotherEngineAreALoadError) {
  EXPECT_THAT(
      [&] { Model<>(file_.path(), test::OtherOptions{}); },
      ThrowsMessage<LoadError>(HasSubstr(
          "model.fake: got options of others (test::OtherOptions), the engine that loads it "
          "is Fake; leave them out, or give those of that engine")));
}

TEST_F(ModelTest, WarmUpRunsOnZerosOfTheDeclaredSizes) {
  for (std::size_t i = 0; i < points_.size(); ++i)
    points_.view().x[i] = scores_.view().score[i] = 5;
  const Model<> model(file_.path());
  const Plan plan = model.plan(metadata());
  model.warm_up(queue_, plan, 1000, 1000);
  EXPECT_EQ(FakeEngines::get().warm_ups, 1);
  ASSERT_EQ(FakeEngines::get().calls.size(), 1U);
  const Binding& seen = FakeEngines::get().calls[0];
  EXPECT_EQ(seen.inputs[0].tensor.size_of_dim[0], 1000);
  EXPECT_EQ(seen.outputs[0].tensor.size_of_dim[0], 1000);
  EXPECT_NE(seen.outputs[0].tensor.data, scores_.view().score.data());
  EXPECT_EQ(plan.binding().inputs[0].tensor.data, points_.view().x.data()) << "the plan stays";
  EXPECT_EQ(points_.view().x[9], 5);
  EXPECT_EQ(scores_.view().score[9], 5);
}

/// Where the last group ends is one row more than there are groups.
TEST_F(ModelTest, WarmUpMakesOffsetsForTheRequestedNumberOfGroups) {
  const PortableCollection<test::Groups> groups(4, Device::cpu());
  const auto offsets = groups.const_view().records().offsets();
  SoAMetadata<Points, test::Groups> inputs(10, 3);
  inputs.append_padded("x", offsets, 2, points_.view().records().x());
  inputs.append_segments<Points>("y", offsets);
  SoAMetadata<Scores> outputs(10);
  outputs.append_block("score", scores_.view().records().score());
  const Model<> model(file_.path());
  const Plan plan = model.plan(ModelMetadata(inputs, outputs));
  int runs = 0;
  FakeEngines::get().look = [&](const Binding& binding) {
    ++runs;
    for (const BoundBlock& block : binding.inputs) {
      const TensorView& seen = block.sources.back();
      ASSERT_EQ(seen.size_of_dim[0], 6);
      const auto* const begin = static_cast<const std::int32_t*>(seen.data);
      EXPECT_THAT(std::vector(begin, begin + 6), testing::Each(0)) << block.name;
    }
    EXPECT_EQ(binding.inputs[0].tensor.size_of_dim[0], 5);
    EXPECT_EQ(binding.inputs[1].tensor.size_of_dim[0], 7);
  };
  model.warm_up(queue_, plan, 7, 5, 7);
  EXPECT_EQ(runs, 1);
  EXPECT_THAT([&] { model.warm_up(queue_, plan, 7, -1, 7); },
              ThrowsMessage<ConfigError>(HasSubstr("a capacity of -1 rows is impossible")));
}

TEST_F(ModelTest, ACallIsNotAWarmUpAndAWarmUpOfNoRowsIsNothing) {
  const Model<> model(file_.path());
  const Plan plan = model.plan(metadata());
  model.forward(queue_, plan);
  model.warm_up(queue_, plan, 0, 0);
  EXPECT_EQ(FakeEngines::get().warm_ups, 0);
  EXPECT_EQ(FakeEngines::get().calls.size(), 1U);
}

TEST_F(ModelTest, WithoutAQueueSaysSo) {
  const Model<> model(file_.path());
  EXPECT_THAT([&] { model.forward(metadata()); },
              ThrowsMessage<ConfigError>(
                  HasSubstr("this handle has no queue; call model.to(queue) first")));
}

TEST_F(ModelTest, RefusesTooManyAndTooFewInputs) {
  const Model<> model(file_.path());
  model.forward(queue_, model.plan(metadata(1)));
  model.forward(queue_, model.plan(metadata(2)));
  EXPECT_THAT([&] { model.forward(queue_, model.plan(metadata(3))); },
              ThrowsMessage<BindingError>(HasSubstr("takes 2 inputs (x, y), got 3 blocks")));
  EXPECT_THAT([&] { model.forward(queue_, model.plan(metadata(0))); },
              ThrowsMessage<BindingError>(HasSubstr("takes 2 inputs (x, y), got 0 blocks")));
  EXPECT_EQ(FakeEngines::get().calls.size(), 2U);
}

TEST_F(ModelTest, RefusesColumnsOfAnotherDeviceThanTheQueues) {
  const View<Points> elsewhere{points_.view().columns(), 10, 10, Device::cuda(0)};
  const View<Scores> scores_elsewhere{scores_.view().columns(), 10, 10, Device::cuda(0)};
  SoAMetadata<Points> inputs(10);
  inputs.append_block("x0", elsewhere.records().x());
  SoAMetadata<Scores> outputs(10);
  outputs.append_block("score", scores_elsewhere.records().score());
  Model<> model(file_.path());
  model.to(queue_);
  EXPECT_THAT([&] { model.forward(ModelMetadata(inputs, outputs)); },
              ThrowsMessage<BindingError>(HasSubstr(
                  "block \"x0\" lies on cuda:0, the queue belongs to cpu; run where the data is")));
  EXPECT_TRUE(FakeEngines::get().calls.empty());
}

TEST_F(ModelTest, RunsNothingWhenNoOutputHasRows) {
  const Model<> model(file_.path());
  EXPECT_EQ(model.forward(queue_, model.plan(metadata(1, 0))), CopyReport{});
  EXPECT_TRUE(FakeEngines::get().calls.empty());
  EXPECT_THROW(model.forward(queue_, model.plan(metadata(3, 0))), BindingError)
      << "an empty event does not hide a wrong program";
}

TEST_F(ModelTest, RunsOnABindingOfTheCallersOwn) {
  const Model<> model(file_.path());
  Binding binding = metadata().binding();
  model.forward(queue_, binding);
  EXPECT_EQ(FakeEngines::get().calls.size(), 1U);
  binding.outputs[0].tensor.read_only = true;
  EXPECT_THROW(model.forward(queue_, binding), BindingError) << "it is checked as any other";
}

/// The tensors of a plan cannot be so.
TEST_F(ModelTest, RefusesTensorsOfTheCallersOwnThatAreNone) {
  const Model<> model(file_.path());
  const Binding good = metadata().binding();
  const auto expect_refused = [&](const auto& spoil, const std::string& message) {
    for (const bool is_output : {false, true}) {
      Binding bad = good;
      BoundBlock& block = (is_output ? bad.outputs : bad.inputs)[0];
      spoil(block);
      EXPECT_THAT(
          [&] { model.forward(queue_, bad); },
          ThrowsMessage<BindingError>(AllOf(
              HasSubstr(is_output ? "block \"score\"" : "block \"x0\""), HasSubstr(message))));
    }
  };
  expect_refused([](BoundBlock& block) { block.tensor.stride_of_dim[1] = -10; },
                 "has the stride -10 in dimension 1, expected 0 or more");
  expect_refused([](BoundBlock& block) { block.tensor.size_of_dim[0] = -1; },
                 "has the size -1 in dimension 0, expected 0 or more");
  expect_refused([](BoundBlock& block) { block.tensor.data = nullptr; },
                 "has elements, but no memory");
  expect_refused(
      [](BoundBlock& block) { block.tensor.data = static_cast<std::byte*>(block.tensor.data) + 2; },
      "is not aligned to its element size of 4 bytes");
  expect_refused([](BoundBlock& block) { block.tensor.rank = 9; },
                 "has 9 dimensions, expected 1 to 4");
  expect_refused([](BoundBlock& block) { block.tensor.rank = 0; },
                 "its tensor has 0 dimensions, expected 1 or more");
  expect_refused([](BoundBlock& block) { block.form = BlockForm::kRepacked; },
                 "has 0 sources and no offsets, expected 1 and no offsets");
  expect_refused([](BoundBlock& block) { block.sources.push_back(block.tensor); },
                 "has 1 sources and no offsets, expected 0 and no offsets");
  expect_refused([](BoundBlock& block) { block.form = BlockForm::kPadded; },
                 "has 0 sources and no offsets, expected 2 and offsets");
  expect_refused(
      [](BoundBlock& block) {
        block.form = BlockForm::kRepacked;
        block.sources.push_back(block.tensor);
        block.sources[0].device = Device::cuda(0);
      },
      "a tensor over its memory lies on cuda:0, the block on cpu");
  EXPECT_TRUE(FakeEngines::get().calls.empty());
}

/// Blocks of all forms, and faults of each that must be refused. An engine reads the number of elements that one tensor
/// of a block says, from memory that another describes.
class OwnTensors : public ModelTest {
 protected:
  using Spoil = std::function<void(BoundBlock&)>;

  Binding good() {
    SoAMetadata<Points, test::Groups> inputs(10, 3);
    const auto point = points_.const_view().records();
    const auto offsets = groups_.const_view().records().offsets();
    inputs.append_block(Repack{DType::kF64}, "copy", point.x(), point.z());
    inputs.append_padded("padded", offsets, 4, point.x(), point.y());
    inputs.append_mask("mask", offsets, 4);
    inputs.append_segments<Points>("segments", offsets);
    SoAMetadata<Scores> outputs(10);
    outputs.append_block(Repack{DType::kF64}, "score", scores_.view().records().score());
    return ModelMetadata(inputs, outputs).binding();
  }

  void expect_refused(const std::string& name, const std::string& message, const Spoil& spoil) {
    Binding bad = good();
    for (auto* blocks : {&bad.inputs, &bad.outputs}) {
      for (BoundBlock& block : *blocks) {
        if (block.name == name) spoil(block);
      }
    }
    EXPECT_THAT(
        [&] { require_valid_tensors(bad); },
        ThrowsMessage<BindingError>(AllOf(HasSubstr("block \"" + name), HasSubstr(message))));
    EXPECT_THROW(Model<>(file_.path()).forward(queue_, bad), BindingError);
    EXPECT_TRUE(FakeEngines::get().calls.empty());
  }

  PortableCollection<test::Groups> groups_{4, Device::cpu()};
};

TEST_F(OwnTensors, OfAllFormsPassWhereTheyBelongTogether) {
  EXPECT_NO_THROW(require_valid_tensors(good()));
  Binding wide = good();
  const std::vector<std::int64_t> offsets(4);
  for (BoundBlock& block : wide.inputs) {
    if (!block.offsets) continue;
    block.sources.back().dtype = DType::kI64;
    block.sources.back().data = const_cast<std::int64_t*>(offsets.data());
  }
  EXPECT_NO_THROW(require_valid_tensors(wide));
}

TEST_F(OwnTensors, ThatNoTensorCanBeAreRefused) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const char* name : {"copy", "padded", "mask", "segments", "score"}) {
    expect_refused(name, "its tensor has 9 dimensions, expected 1 to 4",
                   [](BoundBlock& block) { block.tensor.rank = 9; });
    expect_refused(name, "its tensor has the size -1 in dimension 0, expected 0 or more",
                   [](BoundBlock& block) { block.tensor.size_of_dim[0] = -1; });
    expect_refused(name, "more than 2^63 bytes", [&](BoundBlock& block) {
      block.tensor.rank = 2;
      block.tensor.size_of_dim = {most / 2, 4};
    });
    expect_refused(name, "a tensor over its memory is", [&](BoundBlock& block) {
      block.sources.front().size_of_dim[0] = 3;
      block.sources.front().stride_of_dim[0] = most / 2;
    });
    expect_refused(name, "its shape is BlockShape::kColumns, expected kRows",
                   [](BoundBlock& block) { block.shape = BlockShape::kColumns; });
  }
}

TEST_F(OwnTensors, OfARepackThatAreNotItsColumnsAreRefused) {
  for (const std::int64_t rows : {9, 11}) {
    for (const char* name : {"copy", "score"}) {
      expect_refused(name, '[' + std::to_string(rows) + "], expected float32 and the sizes of one",
                     [&](BoundBlock& block) { block.sources.back().size_of_dim[0] = rows; });
    }
  }
  expect_refused("copy", "its source of column z is uint8[10], expected float32",
                 [](BoundBlock& block) { block.sources[1].dtype = DType::kU8; });
  expect_refused("copy", "its source of column x is float32[10, 2]", [](BoundBlock& block) {
    block.sources[0].rank = 2;
    block.sources[0].size_of_dim[1] = 2;
  });
  expect_refused("copy", "one of 2 columns of its tensor float64[10, 3]",
                 [](BoundBlock& block) { block.tensor.size_of_dim[1] = 3; });
  expect_refused("copy", "one of 2 columns of its tensor float64[10]",
                 [](BoundBlock& block) { block.tensor.rank = 1; });
  expect_refused("copy", "has no columns, expected 1 or more", [](BoundBlock& block) {
    block.columns.clear();
    block.sources.clear();
  });
  expect_refused("score", "an output is bound to a const view",
                 [](BoundBlock& block) { block.sources[0].read_only = true; });
}

TEST_F(OwnTensors, OfPaddedRowsThatAreNotOverItsValuesAreRefused) {
  const auto differ = [](const std::string& tensor, const std::string& values) {
    return "its tensor is " + tensor + ", its values " + values + "; expected [groups, length, ";
  };
  expect_refused("padded", differ("float32[3, 4, 1]", "float32[10, 2]"),
                 [](BoundBlock& block) { block.tensor.size_of_dim[2] = 1; });
  expect_refused("padded", differ("float32[3, 4, 2]", "float32[10, 8]"),
                 [](BoundBlock& block) { block.sources[0].size_of_dim[1] = 8; });
  expect_refused("padded", differ("float32[3, 4]", "float32[10, 2]"),
                 [](BoundBlock& block) { block.tensor.rank = 2; });
  expect_refused("padded", differ("float32[3]", "float32[10, 2]"),
                 [](BoundBlock& block) { block.tensor.rank = 1; });
  expect_refused("padded", differ("float64[3, 4, 2]", "float32[10, 2]"),
                 [](BoundBlock& block) { block.tensor.dtype = DType::kF64; });
  expect_refused("padded", differ("float32[3, 4, 2]", "uint8[10, 2]"),
                 [](BoundBlock& block) { block.sources[0].dtype = DType::kU8; });
  expect_refused("padded", "its values have the stride 2 from one row to the next, expected 1",
                 [](BoundBlock& block) { block.sources[0].stride_of_dim[0] = 2; });
}

TEST_F(OwnTensors, OfMasksAndSegmentsOfAnotherTypeAreRefused) {
  expect_refused("mask", "its tensor is float32[3, 4], expected bool of 2 dimensions for a mask",
                 [](BoundBlock& block) { block.tensor.dtype = DType::kF32; });
  expect_refused("mask", "its tensor is bool[3], expected bool of 2 dimensions",
                 [](BoundBlock& block) { block.tensor.rank = 1; });
  expect_refused("segments", "its tensor is int32[10], expected int64 of 1 dimension for segments",
                 [](BoundBlock& block) { block.tensor.dtype = DType::kI32; });
  expect_refused("segments", "expected int64 of 1 dimension", [](BoundBlock& block) {
    block.tensor.rank = 2;
    block.tensor.size_of_dim[1] = 1;
  });
}

TEST_F(OwnTensors, OfOffsetsThatAreNotThoseOfTheGroupsAreRefused) {
  for (const char* name : {"padded", "mask", "segments"}) {
    const bool counts_groups = std::string(name) != "segments";
    for (const DType dtype : {DType::kF32, DType::kI8, DType::kU8, DType::kBool}) {
      expect_refused(
          name,
          "its offsets offsets are " + std::string(name_of(dtype)) + "[4], expected int32 or int64",
          [&](BoundBlock& block) { block.sources.back().dtype = dtype; });
    }
    expect_refused(name, "its offsets offsets are int32[4] with the stride 2, expected",
                   [](BoundBlock& block) { block.sources.back().stride_of_dim[0] = 2; });
    expect_refused(name, "its offsets offsets are int32[0]",
                   [](BoundBlock& block) { block.sources.back().size_of_dim[0] = 0; });
    expect_refused(name, "its offsets offsets are int32[4, 1]", [](BoundBlock& block) {
      block.sources.back().rank = 2;
      block.sources.back().size_of_dim[1] = 1;
    });
    if (!counts_groups) continue;
    for (const std::int64_t offsets : {2, 3, 5}) {
      expect_refused(name, "one more than the 3 groups of its tensor",
                     [&](BoundBlock& block) { block.sources.back().size_of_dim[0] = offsets; });
    }
    expect_refused(name, "one more than the 4 groups of its tensor",
                   [](BoundBlock& block) { block.tensor.size_of_dim[0] = 4; });
  }
}

TEST_F(ModelTest, ErrorsOfACallAreValuesByResultOf) {
  const Model<> model(file_.path());
  const Plan plan = model.plan(metadata());
  const auto run = [&] {
    return Result<CopyReport>::of([&] { return model.forward(queue_, plan); });
  };
  FakeEngines::get().runs_to_fail = 1;
  const Result<CopyReport> failed = run();
  EXPECT_FALSE(failed);
  EXPECT_STREQ(failed.message(), "the fake engine failed on demand");
  EXPECT_THROW(static_cast<void>(failed.value()), EngineError);
  const Result<CopyReport> succeeded = run();
  ASSERT_TRUE(succeeded);
  EXPECT_EQ(succeeded->bytes_out, 2U);
}

TEST_F(ModelTest, OfAMissingFileOrAFolderIsALoadError) {
  EXPECT_THAT([] { Model<>("no/such/model.fake"); },
              ThrowsMessage<LoadError>("model no/such/model.fake: there is no such file"));
  const auto folder = std::filesystem::temp_directory_path();
  EXPECT_THAT([&] { Model<>{folder}; }, ThrowsMessage<LoadError>(HasSubstr("is not a file")));
}

TEST_F(ModelTest, OfAnotherCompilationTypeIsALoadError) {
  EXPECT_THAT([&] { Model<CompilationType::kAheadOfTime>{file_.path()}; },
              ThrowsMessage<LoadError>(HasSubstr("got CompilationType::kAheadOfTime; request")));
  const TemporaryFile ahead("model.aot");
  EXPECT_EQ(Model<CompilationType::kAheadOfTime>(ahead.path()).location(), ahead.path());
}

TEST_F(ModelTest, OnADeviceThatIsNotThereIsADeviceErrorAndIsNotLoaded) {
  const Model<> model(file_.path());
  EXPECT_THROW(model.deploy(Device::cuda(99)), DeviceError);
  EXPECT_EQ(FakeEngines::get().loads, 0);
  model.deploy(Device::cpu());
  EXPECT_THROW(model.deploy(Device::cuda(-1)), DeviceError);
}

TEST_F(ModelTest, IsLoadedOncePerDevice) {
  if (device_count(DeviceKind::kCuda) == 0) GTEST_SKIP() << "no CUDA device";
  const Model<> model(file_.path());
  for (int i = 0; i < 2; ++i) {
    model.deploy(Device::cpu());
    model.deploy(Device::cuda(0));
  }
  EXPECT_THAT(FakeEngines::get().loaded_on, ElementsAre(Device::cpu(), Device::cuda(0)));
}

// ---- batches

TEST_F(ModelTest, BatchesAreTheRowsOfTheBlocksOneAfterTheOther) {
  const Model<> model(file_.path());
  const Plan plan = model.plan(metadata());
  for (const std::size_t rows : {1U, 3U, 4U, 9U, 10U, 11U}) {
    FakeEngines::get().calls.clear();
    const std::size_t count = (10 + rows - 1) / rows;
    EXPECT_EQ(model.forward_batches(queue_, plan, rows), (CopyReport{count, 2 * count}));
    const auto& calls = FakeEngines::get().calls;
    ASSERT_EQ(calls.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto length = static_cast<std::int64_t>(std::min(rows, 10 - i * rows));
      EXPECT_EQ(calls[i].inputs[0].tensor.data, points_.view().x.data() + i * rows);
      EXPECT_EQ(calls[i].inputs[0].tensor.size_of_dim[0], length);
      EXPECT_EQ(calls[i].outputs[0].tensor.data, scores_.view().score.data() + i * rows);
      EXPECT_EQ(calls[i].outputs[0].tensor.size_of_dim[0], length);
    }
  }
}

TEST_F(ModelTest, BatchesOfNoRowsAreRefusedAndNoRowsAreNoBatches) {
  const Model<> model(file_.path());
  const Plan plan = model.plan(metadata());
  EXPECT_THAT([&] { model.forward_batches(queue_, plan, 0); },
              ThrowsMessage<ConfigError>(HasSubstr("batches of 0 rows; expected 1 or more")));
  EXPECT_EQ(model.forward_batches(queue_, model.plan(metadata(1, 0)), 5), CopyReport{});
  EXPECT_TRUE(FakeEngines::get().calls.empty());
}

TEST_F(ModelTest, BatchesOfBlocksOfUnequalLengthAreRefused) {
  const Model<> model(file_.path());
  SoAMetadata<Points> inputs(9);
  inputs.append_block("x", points_.view().records().x());
  SoAMetadata<Scores> outputs(10);
  outputs.append_block("score", scores_.view().records().score());
  EXPECT_THAT(
      [&] { model.forward_batches(queue_, model.plan(ModelMetadata(inputs, outputs)), 5); },
      ThrowsMessage<BindingError>(HasSubstr("block \"score\" (column score) has 10 rows, block "
                                            "\"x\" (column x) has 9; batches need blocks of equal "
                                            "length")));
  EXPECT_TRUE(FakeEngines::get().calls.empty());
}

TEST_F(ModelTest, BatchesOfSegmentsAreRefused) {
  const Model<> model(file_.path());
  const PortableCollection<test::Groups> groups(4, Device::cpu());
  SoAMetadata<Points, test::Groups> inputs(10, 3);
  inputs.append_segments<Points>("batch", groups.const_view().records().offsets());
  SoAMetadata<Scores> outputs(10);
  outputs.append_block("score", scores_.view().records().score());
  EXPECT_THAT(
      [&] { model.forward_batches(queue_, model.plan(ModelMetadata(inputs, outputs)), 5); },
      ThrowsMessage<BindingError>(HasSubstr("block \"batch\": the groups of all rows have no "
                                            "batches of their own; use one call")));
}

}  // namespace
}  // namespace tensoa
