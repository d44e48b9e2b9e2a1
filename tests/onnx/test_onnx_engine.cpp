// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "tensoa/core/error.hpp"
#include "tensoa/engine/model.hpp"
#include "tensoa/onnx/engines.hpp"
#include "tensoa/package/inspect.hpp"
#include "tensoa/soa/group.hpp"
#include "tensoa/soa/portable_collection.hpp"
#include "tensors.hpp"

namespace tensoa {
namespace {

using test::binding_of;
using test::block_of;
using test::Lying;
using test::onnx_file;
using test::Tensor;
using test::Written;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

template <template <class> class F>
struct Hits {
  F<float> x, y, unused, z;
  F<double> wide;
};
template <template <class> class F>
struct Scores {
  F<float> a, b, c;
};

class OnnxEngine : public testing::Test {
 protected:
  void SetUp() override { onnx::register_engines(); }

  CopyReport run(const std::string& name, const Binding& binding) const {
    return Model<>(onnx_file(name)).forward(queue, binding);
  }

  static Tensor from(const Written& written, Lying lying) {
    Tensor tensor(written.dtype, written.sizes, lying);
    tensor.set_bytes(written.bytes);
    return tensor;
  }

  static Tensor floats(std::int64_t rows, std::int64_t columns, Lying lying = Lying::kRowMajor) {
    Tensor tensor(DType::kF32, {rows, columns}, lying);
    std::vector<float> values(static_cast<std::size_t>(rows * columns));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) + 1;
    tensor.set_values(values);
    return tensor;
  }

  Queue queue{Device::cpu()};
};

TEST_F(OnnxEngine, RowMajorTensorsAreReadAndWrittenWhereTheyLie) {
  for (const std::int64_t rows : {1, 16, 257}) {
    const auto values = test::written_values("mlp", rows);
    Tensor features = from(values[0], Lying::kRowMajor);
    Tensor score(DType::kF32, {rows, 1});
    const CopyReport copies =
        run("mlp", binding_of({block_of("features", features)}, {block_of("score", score)}));
    EXPECT_EQ(copies, CopyReport{}) << to_string(copies);
    EXPECT_EQ(score.bytes(), values[1].bytes) << rows << " rows";
    EXPECT_TRUE(score.is_intact());
    EXPECT_EQ(features.bytes(), values[0].bytes);
  }
}

TEST_F(OnnxEngine, ColumnsAreGatheredAndTheBytesCounted) {
  for (const std::int64_t rows : {1, 16, 257}) {
    const auto values = test::written_values("mlp", rows);
    Tensor features = from(values[0], Lying::kColumns);
    Tensor score(DType::kF32, {rows, 1}, Lying::kColumns);  // one column: it is row-major, too
    const CopyReport copies =
        run("mlp", binding_of({block_of("features", features)}, {block_of("score", score)}));
    EXPECT_EQ(copies.bytes_in, static_cast<std::size_t>(rows) * 15 * sizeof(float));
    EXPECT_EQ(copies.bytes_out, 0U);
    EXPECT_TRUE(copies.has(CopyReason::kRowMajor));
    EXPECT_EQ(score.bytes(), values[1].bytes) << rows << " rows";
    EXPECT_TRUE(features.is_intact() && score.is_intact());
  }
}

TEST_F(OnnxEngine, InputsOfSeveralShapesFindTheirPlacesByNameAndInOrder) {
  for (const std::int64_t rows : {1, 16, 257}) {
    for (const bool by_name : {true, false}) {
      const auto values = test::written_values("graph", rows);
      Tensor x = from(values[0], Lying::kRowMajor);
      Tensor edge_index = from(values[1], Lying::kRowMajor);
      Tensor weight = from(values[2], Lying::kRowMajor);
      Tensor sums(DType::kF32, values[3].sizes);
      std::vector<BoundBlock> inputs{
          block_of(by_name ? "x" : "a", x),
          block_of(by_name ? "edge_index" : "b", edge_index, BlockShape::kColumns),
          block_of(by_name ? "weight" : "c", weight)};
      if (by_name) std::swap(inputs[0], inputs[2]);
      const CopyReport copies =
          run("graph", binding_of(std::move(inputs), {block_of(by_name ? "sums" : "d", sums)}));
      EXPECT_EQ(copies, CopyReport{}) << to_string(copies);
      EXPECT_EQ(sums.bytes(), values[3].bytes) << rows << " rows";
    }
  }
}

TEST_F(OnnxEngine, AllDtypesInAllPlaces) {
  constexpr std::array kOrder{2, 0, 1};
  std::mt19937 random(7);
  for (const DType dtype : {DType::kBool, DType::kU8, DType::kI8, DType::kI16, DType::kI32,
                            DType::kI64, DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    std::string name = dtype == DType::kF32   ? "turn_float"
                       : dtype == DType::kF64 ? "turn_double"
                                              : "turn_" + std::string(name_of(dtype));
    const Model<> model(onnx_file(name));
    for (int i = 0; i < 20; ++i) {
      const auto rows = static_cast<std::int64_t>(random() % 300 + 1);
      const Lying in = random() % 2 == 0 ? Lying::kRowMajor : Lying::kColumns;
      const Lying out = random() % 2 == 0 ? Lying::kRowMajor : Lying::kColumns;
      Tensor x(dtype, {rows, 3}, in);
      std::vector<std::byte> bytes(x.view().bytes());
      for (std::byte& one : bytes) {
        one = static_cast<std::byte>(random() % (dtype == DType::kBool ? 2 : 256));
      }
      x.set_bytes(bytes);
      Tensor y(dtype, {rows, 3}, out);
      const CopyReport copies =
          model.forward(queue, binding_of({block_of("x", x)}, {block_of("y", y)}));
      EXPECT_EQ(copies.bytes_in, in == Lying::kColumns ? bytes.size() : 0) << name;
      EXPECT_EQ(copies.bytes_out, out == Lying::kColumns ? bytes.size() : 0) << name;
      const std::size_t each = size_of(dtype);
      std::vector<std::byte> expected(bytes.size());
      for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
        for (std::size_t k = 0; k < 3; ++k) {
          std::memcpy(&expected[(row * 3 + k) * each],
                      &bytes[(row * 3 + static_cast<std::size_t>(kOrder[k])) * each], each);
        }
      }
      EXPECT_EQ(y.bytes(), expected) << name << ", " << rows << " rows";
      EXPECT_TRUE(y.is_intact()) << name;
    }
  }
}

TEST_F(OnnxEngine, ResultsThatAreTheInputAreWrittenToo) {
  for (const char* name : {"identity", "reshape", "dropout", "branch", "input_again", "constant"}) {
    for (const Lying lying : {Lying::kRowMajor, Lying::kColumns}) {
      Tensor x = floats(2, 3);
      Tensor y(DType::kF32, {2, 3}, lying);
      Tensor other(DType::kF32, {2, 3}, lying);
      std::vector<BoundBlock> outputs{block_of("y", y)};
      const std::string second = name == std::string("input_again") ? "x"
                                 : name == std::string("constant")  ? "held"
                                                                    : "";
      if (!second.empty()) outputs.insert(outputs.begin(), block_of(second, other));
      const CopyReport copies = run(name, binding_of({block_of("x", x)}, outputs));
      const float times = second.empty() ? 1 : 2;
      EXPECT_THAT(y.values<float>(),
                  ElementsAre(times, 2 * times, 3 * times, 4 * times, 5 * times, 6 * times))
          << name;
      if (second == "x") {
        EXPECT_THAT(other.values<float>(), ElementsAre(1, 2, 3, 4, 5, 6)) << name;
        EXPECT_TRUE(copies.has(CopyReason::kOwnOutput));
      }
      if (second == "held") {
        EXPECT_THAT(other.values<float>(), ElementsAre(0, 1, 2, 3, 4, 5)) << name;
      }
    }
  }
}

TEST_F(OnnxEngine, AnOutputOnMemoryOfAnInputIsWrittenAfterIt) {
  Tensor x = floats(5, 3);
  BoundBlock y = block_of("y", x);
  const CopyReport copies = run("reshape", binding_of({block_of("x", x)}, {y}));
  EXPECT_EQ(copies.bytes_out, 5 * 3 * sizeof(float));
  EXPECT_TRUE(copies.has(CopyReason::kOverlap));
  EXPECT_EQ(x.values<float>(), floats(5, 3).values<float>());
}

TEST_F(OnnxEngine, SizesThatTheFileDoesNotSayOrSaysWrongAreTakenFromTheResult) {
  for (const char* name : {"wrong_sizes", "no_sizes"}) {
    Tensor x = floats(4, 3);
    Tensor sizes(DType::kI64, {2});
    sizes.set_values<std::int64_t>({4, 3});
    std::vector<BoundBlock> inputs{block_of("x", x)};
    if (name == std::string("no_sizes")) inputs.push_back(block_of("sizes", sizes));
    Tensor y(DType::kF32, {4, 3});
    const CopyReport copies = run(name, binding_of(inputs, {block_of("y", y)}));
    EXPECT_TRUE(copies.has(CopyReason::kOwnOutput)) << name;
    EXPECT_EQ(copies.bytes_out, 4 * 3 * sizeof(float)) << name;
    EXPECT_EQ(y.values<float>().back(), 24) << name;
    Tensor narrow(DType::kF32, {4, 2});
    EXPECT_THAT([&] { run(name, binding_of(inputs, {block_of("y", narrow)})); },
                ThrowsMessage<BindingError>(AllOf(HasSubstr("gives float32[4, 3] for its output y"),
                                                  HasSubstr("float32[4, 2]"))));
    EXPECT_TRUE(narrow.is_untouched()) << name;
  }
}

TEST_F(OnnxEngine, AResultOfOtherRowsThanItsBlockIsRefused) {
  Tensor x = floats(4, 3);
  Tensor y(DType::kF32, {5, 3});
  EXPECT_THAT([&] { run("identity", binding_of({block_of("x", x)}, {block_of("y", y)})); },
              ThrowsMessage<BindingError>(HasSubstr("gives float32[4, 3] for its output y, got "
                                                    "output block \"y\"")));
  EXPECT_TRUE(y.is_untouched());
}

TEST_F(OnnxEngine, AModelForOneRowRunsRowAfterRow) {
  const Model<> model(onnx_file("one_row"));
  for (const Lying lying : {Lying::kRowMajor, Lying::kColumns}) {
    Tensor x = floats(5, 3, lying);
    Tensor y(DType::kF32, {5, 1});
    const Binding binding = binding_of({block_of("x", x)}, {block_of("y", y)});
    model.forward(queue, binding);
    EXPECT_THAT(y.values<float>(), ElementsAre(6, 15, 24, 33, 42));
  }
  Tensor x = floats(5, 3);
  Tensor y(DType::kF32, {4, 1});
  EXPECT_THAT([&] { model.forward(queue, binding_of({block_of("x", x)}, {block_of("y", y)})); },
              ThrowsMessage<BindingError>(HasSubstr("bind blocks of equal length")));
}

TEST_F(OnnxEngine, AnotherFixedNumberOfRowsIsTheOnlyOne) {
  Tensor x = floats(8, 3);
  Tensor y(DType::kF32, {8, 3});
  EXPECT_EQ(run("fixed", binding_of({block_of("x", x)}, {block_of("y", y)})), CopyReport{});
  Tensor less = floats(5, 3);
  Tensor result(DType::kF32, {5, 3});
  EXPECT_THAT([&] { run("fixed", binding_of({block_of("x", less)}, {block_of("y", result)})); },
              ThrowsMessage<BindingError>(AllOf(HasSubstr("takes x as float32[8, 3]"),
                                                HasSubstr("fixed in the file: bind 8"))));
  EXPECT_TRUE(result.is_untouched());
}

TEST_F(OnnxEngine, OneColumnIsAlsoOneDimension) {
  Tensor x = floats(4, 3);
  Tensor y(DType::kF32, {4, 1});
  EXPECT_EQ(run("flat", binding_of({block_of("x", x)}, {block_of("y", y)})), CopyReport{});
  EXPECT_THAT(y.values<float>(), ElementsAre(6, 15, 24, 33));
}

TEST_F(OnnxEngine, ResultsMayBeLeftOutByName) {
  Tensor x = floats(4, 3);
  Tensor z(DType::kF32, {4, 3});
  run("same_twice", binding_of({block_of("x", x)}, {block_of("z", z)}));
  EXPECT_EQ(z.values<float>(), x.values<float>());
  EXPECT_THAT([&] { run("same_twice", binding_of({block_of("x", x)}, {block_of("q", z)})); },
              ThrowsMessage<BindingError>(HasSubstr("gives 2 outputs (y, z), got 1 blocks")));
  Tensor probabilities(DType::kF32, {4, 3});
  run("label", binding_of({block_of("x", x)}, {block_of("y", probabilities)}));
  EXPECT_NEAR(probabilities.values<float>()[2], 0.665241, 1e-5);
}

TEST_F(OnnxEngine, NoRowsIsAnAnswer) {
  Tensor x = floats(0, 3);
  Tensor y(DType::kF32, {0, 3});
  EXPECT_EQ(run("turn_float", binding_of({block_of("x", x)}, {block_of("y", y)})), CopyReport{});
  Tensor some = floats(3, 3);
  Tensor index(DType::kI64, {0});
  Tensor none(DType::kF32, {0, 3});
  run("gather", binding_of({block_of("x", some), block_of("index", index)}, {block_of("y", none)}));
}

TEST_F(OnnxEngine, CollectionsPlansScalarsAndRepack) {
  PortableCollection<Hits> hits(10, Device::cpu());
  PortableCollection<Scores> scores(10, Device::cpu());
  for (std::size_t i = 0; i < 10; ++i) {
    hits.view().x[i] = static_cast<float>(i);
    hits.view().y[i] = 100;
    hits.view().z[i] = -1;
    hits.view().wide[i] = 7;
  }
  const auto in = hits.view().records();
  const auto out = scores.view().records();
  const Model<> model(onnx_file("turn_float"));
  SoAMetadata<Hits> inputs(10);
  inputs.append_block(Repack{DType::kF32}, "x", in.x(), in.y(), in.wide());
  SoAMetadata<Scores> outputs(10);
  outputs.append_block("y", out.a(), out.b(), out.c());
  auto plan = model.plan(ModelMetadata(inputs, outputs));
  const CopyReport copies = model.forward(queue, plan);
  EXPECT_EQ(copies.bytes_in, 10 * 3 * sizeof(float));
  EXPECT_TRUE(copies.has(CopyReason::kRepack) && copies.has(CopyReason::kRowMajor));
  EXPECT_EQ(scores.view().a[3], 7);
  EXPECT_EQ(scores.view().b[3], 3);
  EXPECT_EQ(scores.view().c[3], 100);
  // Another collection, of another size.
  PortableCollection<Hits> more(33, Device::cpu());
  PortableCollection<Scores> answers(33, Device::cpu());
  for (std::size_t i = 0; i < 33; ++i) {
    more.view().x[i] = more.view().y[i] = static_cast<float>(i);
    more.view().wide[i] = 1;
  }
  plan.rebind(more.view(), answers.view());
  model.forward(queue, plan);
  EXPECT_EQ(answers.view().b[32], 32);
}

TEST_F(OnnxEngine, BatchesOfAPlan) {
  Tensor x = floats(10, 3);
  PortableCollection<Scores> in(10, Device::cpu());
  PortableCollection<Scores> out(10, Device::cpu());
  for (std::size_t i = 0; i < 10; ++i) in.view().a[i] = in.view().b[i] = static_cast<float>(i);
  const auto columns = in.view().records();
  const auto results = out.view().records();
  SoAMetadata<Scores> inputs(10);
  inputs.append_block("x", columns.a(), columns.b(), columns.c());
  SoAMetadata<Scores> outputs(10);
  outputs.append_block("y", results.a(), results.b(), results.c());
  const Model<> model(onnx_file("turn_float"));
  model.forward_batches(queue, model.plan(ModelMetadata(inputs, outputs)), 4);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(out.view().b[i], static_cast<float>(i));
}

TEST_F(OnnxEngine, SaysWhatAFileTakes) {
  const auto model = package::inspect(onnx_file("mlp"));
  EXPECT_THAT(model.format, HasSubstr("ONNX, run by ONNX Runtime 1."));
  ASSERT_EQ(model.inputs.size(), 1U);
  EXPECT_EQ(model.inputs[0].type, "float32[n0, 15]");
  EXPECT_EQ(model.inputs[0].block->columns[14].name, "features_14");
  EXPECT_EQ(model.outputs[0].block->columns[0].name, "score");
  const auto graph = package::inspect(onnx_file("graph"));
  EXPECT_EQ(graph.inputs[1].block->shape, BlockShape::kColumns);
  EXPECT_EQ(graph.inputs[1].collection, 1U);
  EXPECT_EQ(graph.inputs[2].collection, 1U);
  EXPECT_EQ(graph.outputs[0].collection, 1U);
  const auto pooled = package::inspect(onnx_file("pooled"));
  EXPECT_FALSE(pooled.outputs[0].collection);
  EXPECT_EQ(pooled.outputs[0].rows, 1U);
  EXPECT_TRUE(package::inspect(onnx_file("scaled")).inputs[1].block->element.is_scalar());
  const auto label = package::inspect(onnx_file("label"));
  ASSERT_EQ(label.outputs.size(), 1U);
  EXPECT_EQ(label.outputs[0].name, "y");
  EXPECT_EQ(label.binding->outputs[0].columns.size(), 3U);
  EXPECT_THAT(label.proof, HasSubstr("label is string, which no column holds"));
}

TEST_F(OnnxEngine, RowsOfAModelForOneRowAreIndependent) {
  Tensor x = floats(5, 3);
  Tensor y(DType::kF32, {5, 1});
  const AnyModel one(onnx_file("one_row"), CompilationType::kAny, {});
  EXPECT_TRUE(
      one.row_dependence(binding_of({block_of("x", x)}, {block_of("y", y)})).are_independent());
  const AnyModel any(onnx_file("flat"), CompilationType::kAny, {});
  EXPECT_EQ(any.row_dependence(binding_of({block_of("x", x)}, {block_of("y", y)})).answer,
            RowDependence::Answer::kUnknown);
}

}  // namespace
}  // namespace tensoa
