// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "onnx_engine.hpp"
#include "support/sanitizers.hpp"
#include "support/temporary_folder.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/onnx/engines.hpp"
#include "tensors.hpp"

namespace tensoa {
namespace {

using test::binding_of;
using test::block_of;
using test::onnx_file;
using test::Tensor;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

class BadOnnxFiles : public testing::Test {
 protected:
  void SetUp() override { onnx::register_engines(); }

  static void load(const std::string& file) { Model<>(file).deploy(Device::cpu()); }

  Queue queue{Device::cpu()};
};

TEST_F(BadOnnxFiles, CustomOperatorsAreNamed) {
  EXPECT_THAT([] { load(onnx_file("custom")); },
              ThrowsMessage<LoadError>(
                  AllOf(HasSubstr("custom.onnx: has the operator my.domain:MyOp, which ONNX "
                                  "Runtime 1."),
                        HasSubstr("does not have"))));
}

TEST_F(BadOnnxFiles, DamagedFilesAreOneLineWithTheFile) {
  const test::TemporaryFolder folder;
  for (const std::string& file :
       {onnx_file("cut_off"), folder.write("noise.onnx", std::string(1000, '\x01')).string()}) {
    EXPECT_THAT([&] { load(file); },
                ThrowsMessage<LoadError>(AllOf(HasSubstr("model " + file + ": ONNX Runtime 1."),
                                               HasSubstr("cannot load it: "), Not(HasSubstr("\n")),
                                               Not(HasSubstr(".cc:")))));
  }
}

TEST_F(BadOnnxFiles, AFileOfAnotherNameIsKnownByItsContent) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "network.model";
  std::filesystem::copy_file(onnx_file("mlp"), file);
  EXPECT_NO_THROW(load(file.string()));
}

TEST_F(BadOnnxFiles, ACallThatMemoryDoesNotSufficeForIsADeviceFullError) {
  if (test::kStacksAreWatched) GTEST_SKIP() << "a sanitizer ends the process where new fails";
  Tensor x(DType::kF32, {1, 1});
  x.set_values<float>({1});
  Tensor size(DType::kI64, {2});
  size.set_values<std::int64_t>({std::int64_t{1} << 30, std::int64_t{1} << 20});
  Tensor y(DType::kF32, {1, 1});
  const Model<> model(onnx_file("huge"));
  const Binding binding =
      binding_of({block_of("x", x), block_of("size", size)}, {block_of("y", y)});
  EXPECT_THAT([&] { model.forward(queue, binding); },
              ThrowsMessage<DeviceFullError>(HasSubstr("huge.onnx: failed while running: ")));
  size.set_values<std::int64_t>({100, 100});
  model.forward(queue, binding);  // the model works on
  EXPECT_EQ(y.values<float>()[0], 10'000);
}

TEST_F(BadOnnxFiles, AModelThatFailsSaysWhereAndOnWhat) {
  Tensor x(DType::kF32, {2, 3});
  Tensor index(DType::kI64, {2});
  index.set_values<std::int64_t>({0, 99});
  Tensor y(DType::kF32, {2, 3});
  EXPECT_THAT(
      [&] {
        Model<>(onnx_file("gather"))
            .forward(queue,
                     binding_of({block_of("x", x), block_of("index", index)}, {block_of("y", y)}));
      },
      ThrowsMessage<EngineError>(AllOf(HasSubstr("gather.onnx: failed while running: "),
                                       HasSubstr("idx=99"), HasSubstr("inputs: block \"x\""),
                                       Not(HasSubstr("\n")))));
}

TEST_F(BadOnnxFiles, BlocksThatDoNotFitAreRefusedByName) {
  const auto refuse = [&](const char* name, const Binding& binding, const char* says) {
    EXPECT_THAT([&] { Model<>(onnx_file(name)).forward(queue, binding); },
                ThrowsMessage<BindingError>(HasSubstr(says)));
  };
  Tensor x(DType::kF32, {4, 15});
  Tensor wide(DType::kF64, {4, 15});
  Tensor narrow(DType::kF32, {4, 14});
  Tensor flat(DType::kF32, {4});
  Tensor y(DType::kF32, {4, 1});
  Tensor integers(DType::kI32, {4, 1});
  refuse("mlp", binding_of({block_of("features", wide)}, {block_of("score", y)}),
         "takes features as float32[?, 15], got block \"features\"");
  refuse("mlp", binding_of({block_of("features", narrow)}, {block_of("score", y)}),
         "bind that number of columns");
  refuse("mlp", binding_of({block_of("features", flat)}, {block_of("score", y)}),
         "bind a block of that number of dimensions");
  refuse("mlp", binding_of({block_of("features", x)}, {block_of("score", integers)}),
         "gives score as float32[?, 1], got block \"score\"");
  refuse("mlp", binding_of({block_of("features", x), block_of("more", x)}, {block_of("score", y)}),
         "takes 1 inputs (features), got 2 blocks");
  Tensor three(DType::kF32, {4, 3});
  Tensor label(DType::kU8, {4, 1});
  Tensor scores(DType::kF32, {4, 3});
  refuse("label",
         binding_of({block_of("x", three)}, {block_of("label", label), block_of("y", scores)}),
         "gives label as string[?], got block \"label\"");
  EXPECT_TRUE(y.is_untouched() && integers.is_untouched());
}

TEST_F(BadOnnxFiles, AGpuIsALoadErrorThatNamesTheWayThere) {
  EXPECT_THAT([] { onnx::load_onnx_engine(onnx_file("mlp"), Device::cuda(0)); },
              ThrowsMessage<LoadError>(AllOf(HasSubstr("runs on the CPU as it is, got cuda:0"),
                                             HasSubstr("--target cuda"))));
}

}  // namespace
}  // namespace tensoa
