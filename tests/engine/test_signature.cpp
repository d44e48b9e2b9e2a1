// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/engine/signature.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tensoa/core/error.hpp"

namespace tensoa {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

BlockDescription block_of(BlockShape shape, FieldInfo element, std::size_t columns) {
  BlockDescription block;
  block.shape = shape;
  block.element = element;
  block.dtype = DType::kF64;
  block.columns.resize(columns);
  return block;
}

/// The table of soa/bound_block.hpp.
TEST(TensorSpec, HasTheDimensionsOfTheBlockThatItIsMadeFor) {
  const FieldInfo plain{ColumnKind::kPlain, DType::kF32, 1, 1};
  const FieldInfo scalar{ColumnKind::kScalar, DType::kF32, 1, 1};
  const FieldInfo vector{ColumnKind::kVector, DType::kF32, 3, 1};
  const FieldInfo matrix{ColumnKind::kMatrix, DType::kF32, 2, 3};
  const auto type = [](BlockShape shape, FieldInfo element, std::size_t columns) {
    return spec_of(block_of(shape, element, columns)).type();
  };
  EXPECT_EQ(type(BlockShape::kRows, plain, 4), "float64[?, 4]");
  EXPECT_EQ(type(BlockShape::kColumns, plain, 2), "float64[2, ?]");
  EXPECT_EQ(type(BlockShape::kRows, scalar, 1), "float64[?, 1]");
  EXPECT_EQ(type(BlockShape::kRows, vector, 1), "float64[?, 3]");
  EXPECT_EQ(type(BlockShape::kRows, vector, 2), "float64[?, 2, 3]");
  EXPECT_EQ(type(BlockShape::kRows, matrix, 1), "float64[?, 2, 3]");
  EXPECT_EQ(type(BlockShape::kRows, matrix, 5), "float64[?, 5, 2, 3]");
}

TEST(TensorSpec, SaysWhatItDoesNotKnow) {
  EXPECT_EQ(TensorSpec{.name = "x"}.type(), "tensor");
  EXPECT_EQ((TensorSpec{.dtype = DType::kI64, .sizes = {{}}}.type()), "int64[]");
  EXPECT_EQ((TensorSpec{.sizes = {{2, kAnySize}}}.type()), "tensor[2, ?]");
}

TEST(Matching, IsByNameWhereEveryBlockHasThatOfAPlaceAndNotInOrder) {
  const std::vector<TensorSpec> arguments = {{.name = "x"}, {.name = "y"}, {.name = "z"}};
  const auto answer = [&](const std::vector<std::string>& names, Match match = Match::kAuto) {
    std::vector<BoundBlock> blocks(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) blocks[i].name = names[i];
    const auto [by_name, misplaced] = match_names(match, blocks, arguments);
    if (misplaced != nullptr) return misplaced->name;
    return std::string(by_name ? "by name" : "in order");
  };
  EXPECT_EQ(answer({"x", "y", "z"}), "in order");
  EXPECT_EQ(answer({"x"}), "in order");
  EXPECT_EQ(answer({}), "in order");
  EXPECT_EQ(answer({"a", "b", "c"}), "in order");
  EXPECT_EQ(answer({"a", "y"}), "in order");
  EXPECT_EQ(answer({"z", "x", "y"}), "by name");
  EXPECT_EQ(answer({"z"}), "by name");
  EXPECT_EQ(answer({"x", "y", "z", "a"}), "in order") << "too many, which is another error";
  EXPECT_EQ(answer({"a", "x"}), "x");
  EXPECT_EQ(answer({"x", "a", "y"}), "y");
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"a", "x"}, {"z", "x", "y"}, {"x", "y", "z"}}) {
    EXPECT_EQ(answer(names, Match::kByOrder), "in order");
    EXPECT_EQ(answer(names, Match::kByName), "by name");
  }
}

class MatchArguments : public testing::Test {
 protected:
  std::vector<std::size_t> match(const std::vector<std::string>& names,
                                 Match how = Match::kAuto) const {
    Binding binding;
    binding.match = how;
    for (const std::string& name : names) binding.inputs.emplace_back().name = name;
    return match_arguments(binding, signature_, "model m.pt");
  }

  Signature signature_{.inputs = {{.name = "x"}, {.name = "y"}, {.name = "z"}},
                       .required_inputs = 2};
};

TEST_F(MatchArguments, GivesEachBlockTheNumberOfItsArgument) {
  EXPECT_THAT(match({"x", "y"}), ElementsAre(0, 1));
  EXPECT_THAT(match({"a", "b", "c"}), ElementsAre(0, 1, 2));
  EXPECT_THAT(match({"z", "y", "x"}), ElementsAre(2, 1, 0));
  EXPECT_THAT(match({"y", "x"}), ElementsAre(1, 0));
  EXPECT_THAT(match({"y", "x"}, Match::kByOrder), ElementsAre(0, 1));
}

TEST_F(MatchArguments, RefusesBlocksThatFindNone) {
  EXPECT_THAT([&] { match({"a"}); },
              ThrowsMessage<BindingError>("model m.pt takes 3 inputs (x, y, z), got 1 blocks"));
  EXPECT_THAT(
      [&] {
        match({"y", "a"});
      },
      ThrowsMessage<BindingError>(HasSubstr("got block \"y\" as number 1; name all blocks")));
  EXPECT_THAT(
      [&] {
        match({"x", "a"}, Match::kByName);
      },
      ThrowsMessage<BindingError>(HasSubstr("got a block called \"a\"")));
  EXPECT_THAT(
      [&] {
        match({"z", "x"});
      },
      ThrowsMessage<BindingError>(HasSubstr("got no block called \"y\", which has no default")));
}

}  // namespace
}  // namespace tensoa
