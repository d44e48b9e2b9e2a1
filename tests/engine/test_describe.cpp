// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/engine/describe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tensoa/core/error.hpp"
#include "tensoa/soa/portable_collection.hpp"

namespace tensoa {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::ThrowsMessage;

template <template <class> class F>
struct Hits {
  F<float> x, y, z, w;
  F<std::int32_t> layer;  // among the planes of 4 bytes
  F<float> v;
  F<double> time;
  F<Vector<float, 3>> direction;
  F<Matrix<double, 2, 3>> covariance;
  F<Scalar<float>> field, threshold;
};

template <template <class> class F>
struct Edges {
  F<std::int64_t> source, target;
};

class Describe : public testing::Test {
 protected:
  /// The description of the only input block.
  json input() const {
    return json::parse(describe(ModelMetadata(inputs_, outputs_)))["inputs"][0];
  }

  PortableCollection<Hits> hits_{10, Device::cpu()};
  PortableCollection<Edges> edges_{20, Device::cpu()};
  Records<Hits> hit_ = hits_.view().records();
  SoAMetadata<Hits, Edges> inputs_{10, 20};
  SoAMetadata<Hits> outputs_{10};
};

TEST_F(Describe, WritesAllThatAnExporterNeeds) {
  inputs_.append_block("features", hit_.x(), hit_.y());
  inputs_.append_block(BlockShape::kColumns, "edge_index", edges_.view().records().source(),
                       edges_.view().records().target());
  outputs_.append_block("answer", hit_.w());
  const json expected = json::parse(R"({
    "schema": 1, "match": "name",
    "inputs": [
      {"name": "features", "collection": 0, "shape": "rows", "kind": "plain", "element": [],
       "column_dtype": "float32", "dtype": "float32",
       "columns": [{"name": "x", "plane": 0}, {"name": "y", "plane": 1}]},
      {"name": "edge_index", "collection": 1, "shape": "columns", "kind": "plain", "element": [],
       "column_dtype": "int64", "dtype": "int64",
       "columns": [{"name": "source", "plane": 0}, {"name": "target", "plane": 1}]}],
    "outputs": [
      {"name": "answer", "collection": 0, "shape": "rows", "kind": "plain", "element": [],
       "column_dtype": "float32", "dtype": "float32", "columns": [{"name": "w", "plane": 0}]}]})");
  EXPECT_EQ(json::parse(describe(ModelMetadata(inputs_, outputs_, Match::kByName))), expected);
}

TEST_F(Describe, CountsPlanesOfOneElementSizeFromTheFirstColumnInMemory) {
  inputs_.append_block(Repack{}, "b", hit_.v(), hit_.y(), hit_.z());
  EXPECT_EQ(input()["columns"], json::parse(R"([{"name": "v", "plane": 4},
                                                {"name": "y", "plane": 0},
                                                {"name": "z", "plane": 1}])"));
}

TEST_F(Describe, VectorsMatricesAndScalarsHaveTheirExtents) {
  inputs_.append_block("matrix", hit_.covariance());
  inputs_.append_block("vector", hit_.direction());
  inputs_.append_block("scalars", hit_.field(), hit_.threshold());
  const json blocks = json::parse(describe(ModelMetadata(inputs_, outputs_)))["inputs"];
  EXPECT_EQ(blocks[0]["kind"], "matrix");
  EXPECT_EQ(blocks[0]["element"], json::parse("[2, 3]"));
  EXPECT_EQ(blocks[0]["column_dtype"], "float64");
  EXPECT_EQ(blocks[1]["element"], json::parse("[3]"));
  EXPECT_EQ(blocks[2]["kind"], "scalar");
  EXPECT_EQ(blocks[2]["columns"][1], json::parse(R"({"name": "threshold", "plane": 1})"));
}

TEST_F(Describe, NamesTheDTypeThatARepackConvertsTo) {
  inputs_.append_block(Repack{DType::kF64}, "b", hit_.x());
  EXPECT_EQ(input()["column_dtype"], "float32");
  EXPECT_EQ(input()["dtype"], "float64");
}

TEST_F(Describe, ARepackOfSeveralDTypesIsRefused) {
  inputs_.append_block(Repack{DType::kF32}, "mixed", hit_.x(), hit_.layer());
  EXPECT_THAT([&] { description_of(ModelMetadata(inputs_, outputs_).binding()); },
              ThrowsMessage<BindingError>(
                  HasSubstr("block \"mixed\" (columns x, layer): column x is plain float32, column "
                            "layer is plain int32")));
}

TEST_F(Describe, RaggedFormsAreRefused) {
  PortableCollection<Edges> groups(4, Device::cpu());
  SoAMetadata<Hits, Edges> inputs(10, 3);
  inputs.append_mask("mask", groups.view().records().source(), 2);
  EXPECT_THAT([&] { description_of(ModelMetadata(inputs, outputs_).binding()); },
              ThrowsMessage<BindingError>(HasSubstr("run it just in time")));
}

TEST_F(Describe, IsTheSameForEveryNumberOfRows) {
  inputs_.append_block("b", hit_.x(), hit_.z());
  const std::string before = describe(ModelMetadata(inputs_, outputs_));
  PortableCollection<Hits> large(10'000, Device::cpu());
  SoAMetadata<Hits, Edges> inputs(10'000, 1);
  inputs.append_block("b", large.view().records().x(), large.view().records().z());
  EXPECT_EQ(describe(ModelMetadata(inputs, outputs_)), before);
}

TEST_F(Describe, IsReadAgainAsItWasWritten) {
  inputs_.append_block("x", hit_.x(), hit_.y());
  inputs_.append_block("matrix", hit_.covariance());
  outputs_.append_block("answer", hit_.w());
  const std::string text = describe(ModelMetadata(inputs_, outputs_, Match::kByName));
  EXPECT_EQ(to_json(parse_binding(text)), text);
}

// ---- what differs

TEST_F(Describe, FindsNoDifferenceInTheBlockThatWasDescribed) {
  inputs_.append_block("x", hit_.x(), hit_.z());
  const BindingDescription described = description_of(ModelMetadata(inputs_, outputs_).binding());
  EXPECT_EQ(difference(described.inputs[0], inputs_.blocks()[0]), "");
}

TEST_F(Describe, NamesWhatDiffers) {
  inputs_.append_block("described", hit_.x(), hit_.y());
  inputs_.append_block("other_column", hit_.x(), hit_.z());
  inputs_.append_block("one_column", hit_.x());
  inputs_.append_block("integers", edges_.view().records().source(),
                       edges_.view().records().target());
  inputs_.append_block(BlockShape::kColumns, "transposed", hit_.x(), hit_.y());
  inputs_.append_block(Repack{DType::kF64}, "converted", hit_.x(), hit_.y());
  const BindingDescription described = description_of(ModelMetadata(inputs_, outputs_).binding());
  const auto difference_to = [&](std::size_t i) {
    return difference(described.inputs[0], inputs_.blocks()[i]);
  };
  EXPECT_EQ(difference_to(1), "column 1 is z, expected y");
  EXPECT_EQ(difference_to(2), "the number of columns is 1, expected 2");
  EXPECT_EQ(difference_to(3), "column 0 is source, expected x");
  EXPECT_EQ(difference_to(4), "the shape is columns, expected rows");
  EXPECT_EQ(difference_to(5), "the dtype is float64, expected float32");
}

/// As Hits, with columns that changed.
template <template <class> class F>
struct OtherHits {
  F<float> x, between, y;
  F<double> z;
  F<Vector<float, 2>> direction;
};

TEST_F(Describe, NamesColumnsOfTheSameNameThatChanged) {
  inputs_.append_block("place", hit_.x(), hit_.y());
  inputs_.append_block("dtype", hit_.z());
  inputs_.append_block("kind", hit_.x());
  inputs_.append_block("extents", hit_.direction());
  BindingDescription described = description_of(ModelMetadata(inputs_, outputs_).binding());
  described.inputs[2].element.kind = ColumnKind::kScalar;
  PortableCollection<OtherHits> others(10, Device::cpu());
  const auto other = others.view().records();
  SoAMetadata<OtherHits> inputs(10);
  inputs.append_block("place", other.x(), other.y());
  inputs.append_block("dtype", other.z());
  inputs.append_block("kind", other.x());
  inputs.append_block("extents", other.direction());
  const auto difference_of = [&](std::size_t i) {
    return difference(described.inputs[i], inputs.blocks()[i]);
  };
  EXPECT_EQ(difference_of(0),
            "the place of column y among the planes of the block is 2, expected 1");
  EXPECT_EQ(difference_of(1), "the dtype of column z is float64, expected float32");
  EXPECT_EQ(difference_of(2), "the kind of column x is plain, expected scalar");
  EXPECT_EQ(difference_of(3), "an element of column direction is 2 x 1, expected 3 x 1");
}

/// The caller's own tensors may have forms that tensors over columns never have.
TEST_F(Describe, NamesWhatDiffersOfTensorsThatAreNotOverColumns) {
  inputs_.append_block("x", hit_.x(), hit_.y());
  inputs_.append_block("matrix", hit_.covariance());
  inputs_.append_block(Repack{}, "repacked", hit_.x(), hit_.y());
  inputs_.append_block("field", hit_.field());
  inputs_.append_block(Repack{}, "twice", hit_.x(), hit_.x(), hit_.y());
  const BindingDescription described = description_of(ModelMetadata(inputs_, outputs_).binding());
  const auto difference_of = [&](std::size_t i, const auto& spoil) {
    BoundBlock block = inputs_.blocks()[i];
    EXPECT_EQ(difference(described.inputs[i], block), "");
    spoil(block);
    return difference(described.inputs[i], block);
  };
  EXPECT_EQ(difference_of(0,
                          [](BoundBlock& block) {
                            block.tensor.stride_of_dim = {2, 1};
                          }),
            "its stride from one row to the next is 2, expected 1");
  EXPECT_EQ(difference_of(0, [](BoundBlock& block) { block.tensor.size_of_dim[1] = 3; }),
            "its shape is [10, 3], expected [10, 2]");
  EXPECT_EQ(difference_of(0, [](BoundBlock& block) { block.tensor.rank = 1; }),
            "its shape is [10], expected [10, 2]");
  EXPECT_EQ(difference_of(1, [](BoundBlock& block) { ++block.tensor.stride_of_dim[2]; }),
            "its stride from one column of a matrix to the next is 33, expected 32");
  EXPECT_EQ(difference_of(2, [](BoundBlock& block) { block.sources[1].stride_of_dim[0] = 0; }),
            "of column y its stride from one row to the next is 0, expected 1");
  EXPECT_EQ(difference_of(2, [](BoundBlock& block) { block.sources[1].size_of_dim[0] = 9; }),
            "of column y its shape is [9], expected [10]");
  EXPECT_EQ(difference_of(3, [](BoundBlock& block) { block.tensor.stride_of_dim[0] = 1; }),
            "its stride from one row to the next is 1, expected 0");
  EXPECT_EQ(
      difference_of(4, [](BoundBlock& block) { block.sources[1].data = block.sources[2].data; }),
      "column x lies at two places, expected one");
  for (const DType dtype : {DType::kU8, DType::kF64, DType::kI32}) {
    const std::string name(name_of(dtype));
    for (const std::size_t source : {0U, 1U}) {
      EXPECT_EQ(difference_of(2, [&](BoundBlock& block) { block.sources[source].dtype = dtype; }),
                "of column " + inputs_.blocks()[2].columns[source].name + " its dtype is " + name +
                    ", expected float32");
    }
    EXPECT_EQ(difference_of(0, [&](BoundBlock& block) { block.tensor.dtype = dtype; }),
              "the dtype is " + name + ", expected float32");
  }
}

/// A program reads elements of the columns' dtype, whatever the tensor says.
TEST_F(Describe, NamesATensorInPlaceWhereColumnsAreConverted) {
  inputs_.append_block(Repack{DType::kF32}, "time", hit_.time());
  const BindingDescription described = description_of(ModelMetadata(inputs_, outputs_).binding());
  BoundBlock block = inputs_.blocks()[0];
  EXPECT_EQ(difference(described.inputs[0], block), "");
  block.form = BlockForm::kInPlace;
  block.sources.clear();
  block.tensor.data = hits_.data();
  block.tensor.stride_of_dim = {1, 10};
  EXPECT_EQ(difference(described.inputs[0], block), "its dtype is float32, expected float64");
}

// ---- what cannot be read

TEST(ParseBinding, SaysWhatIsWrong) {
  const auto parse = [](const std::string& text) { return [text] { parse_binding(text); }; };
  EXPECT_THAT(parse("{"), ThrowsMessage<InputError>(HasSubstr("is not JSON")));
  EXPECT_THAT(parse("[]"), ThrowsMessage<InputError>(HasSubstr("is not JSON of an object")));
  EXPECT_THAT(parse("{}"), ThrowsMessage<InputError>(HasSubstr("\"schema\" is missing")));
  EXPECT_THAT(
      parse(R"({"schema": 7})"),
      ThrowsMessage<InputError>(HasSubstr("its schema is 7, this version of tensoa reads 1")));
  EXPECT_THAT(parse(R"({"schema": -1})"), ThrowsMessage<InputError>(HasSubstr("\"schema\" is -1")));
  EXPECT_THAT(parse(R"({"schema": 1, "match": "luck", "inputs": [], "outputs": []})"),
              ThrowsMessage<InputError>(
                  HasSubstr("\"match\" is \"luck\"; expected one of auto, order, name")));
  EXPECT_THAT(parse(R"({"schema": 1, "match": "order", "inputs": {}, "outputs": []})"),
              ThrowsMessage<InputError>(HasSubstr("\"inputs\" is {}; expected a list")));
  const std::string deep = "{\"schema\": " + std::string(1'000'000, '[');
  EXPECT_THAT(parse(deep + std::string(1'000'000, ']') + '}'),
              ThrowsMessage<InputError>(HasSubstr("is nested deeper than 16 levels")));
}

TEST(ParseBinding, ChecksBlocks) {
  const auto parse = [](const std::string& block) {
    return [block] {
      parse_binding(R"({"schema": 1, "match": "order", "outputs": [], "inputs": [)" + block + "]}");
    };
  };
  const std::string head =
      R"({"name": "a", "collection": 0, "shape": "rows", "dtype": "float32", )";
  EXPECT_THAT(parse(head + R"("kind": "plain", "column_dtype": "complex"})"),
              ThrowsMessage<InputError>(HasSubstr("\"column_dtype\" is \"complex\"")));
  EXPECT_THAT(parse(head + R"("kind": "vector", "element": [], "column_dtype": "int8"})"),
              ThrowsMessage<InputError>(HasSubstr("expected 1 numbers for a vector column")));
  EXPECT_THAT(
      parse(head + R"("kind": "plain", "element": [], "column_dtype": "int8", "columns": []})"),
      ThrowsMessage<InputError>(HasSubstr("block \"a\" has no columns")));
  for (const char* element : {"[4000000000, 4000000000]", "[257, 256]", "[0, 3]"}) {
    EXPECT_THAT(parse(head + R"("kind": "matrix", "column_dtype": "int8", "element": )" + element +
                      R"(, "columns": [{"name": "x", "plane": 0}]})"),
                ThrowsMessage<InputError>(HasSubstr("expected 1 to 65536 numbers in an element")));
  }
  const std::string block = head + R"("kind": "plain", "element": [], "column_dtype": "int8",
                                      "columns": [{"name": "x", "plane": 0}]})";
  EXPECT_NO_THROW(parse(block)());
  EXPECT_THAT(parse(block + ", " + block),
              ThrowsMessage<InputError>(HasSubstr("two blocks are called \"a\"")));
}

}  // namespace
}  // namespace tensoa
