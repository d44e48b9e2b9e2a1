// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/package/columns_in_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tensoa/core/error.hpp"

namespace tensoa::package {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Words = std::vector<std::string>;

std::vector<std::string> names_of(const BlockDescription& block) {
  std::vector<std::string> names;
  for (const ColumnDescription& column : block.columns) names.push_back(column.name);
  return names;
}

TEST(ColumnsInWords, AreBlocksOfColumnsSideBySide) {
  const BindingDescription binding = columns_in_words(
      {"features=pt, eta,phi", " charge = charge:int32 "}, {"score", "two=a,b:float64"});
  ASSERT_EQ(binding.inputs.size(), 2U);
  ASSERT_EQ(binding.outputs.size(), 2U);
  EXPECT_EQ(binding.inputs[0].name, "features");
  EXPECT_THAT(names_of(binding.inputs[0]), ElementsAre("pt", "eta", "phi"));
  EXPECT_EQ(binding.inputs[0].columns[2].plane, 2U);
  EXPECT_EQ(binding.inputs[0].dtype, DType::kF32);
  EXPECT_EQ(binding.inputs[0].shape, BlockShape::kRows);
  EXPECT_EQ(binding.inputs[1].name, "charge");
  EXPECT_EQ(binding.inputs[1].element.dtype, DType::kI32);
  EXPECT_EQ(binding.inputs[1].collection, 0U);
  EXPECT_EQ(binding.outputs[0].name, "score");
  EXPECT_THAT(names_of(binding.outputs[0]), ElementsAre("score"));
  EXPECT_EQ(binding.outputs[1].dtype, DType::kF64);
  EXPECT_THAT(names_of(binding.outputs[1]), ElementsAre("a", "b"));
  EXPECT_EQ(binding.match, Match::kAuto);
}

TEST(ColumnsInWords, HaveCollectionsNumbersOfACallAndEdgeLists) {
  const BindingDescription binding = columns_in_words(
      {"x=r,z@hits", "field=field@call", "edge_index.T=from,to:int64@edges", "q=q@hits"},
      {"weight=w@edges", "node=n@hits", "first"});
  EXPECT_EQ(binding.inputs[0].collection, 0U);
  EXPECT_TRUE(binding.inputs[1].element.is_scalar());
  EXPECT_EQ(binding.inputs[2].collection, 1U);
  EXPECT_EQ(binding.inputs[2].shape, BlockShape::kColumns);
  EXPECT_EQ(binding.inputs[2].name, "edge_index");
  EXPECT_EQ(binding.inputs[3].collection, 0U);
  EXPECT_EQ(binding.outputs[0].collection, 1U);
  EXPECT_EQ(binding.outputs[1].collection, 0U);
  EXPECT_EQ(binding.outputs[2].collection, 0U);
}

TEST(ColumnsInWords, OfEveryDtype) {
  for (int i = 0; i <= static_cast<int>(DType::kF64); ++i) {
    const auto dtype = static_cast<DType>(i);
    const std::string word = "x=x:" + std::string(name_of(dtype));
    EXPECT_EQ(columns_in_words({word}, {"y"}).inputs[0].dtype, dtype) << word;
  }
}

TEST(ColumnsInWords, SayWhatIsWrong) {
  for (const char* word :
       {"", "x", "x=", "=a", "x=a,", "x=,a", "x=a,,b", "x=a=b", "x=a:", "x=a@", "x=a:int32:int32",
        "x=a@b@c", "x=a@b:int32", ".T=a", "x=a@.T", "x=a:in t", "x@y=a"}) {
    EXPECT_THAT(
        [&] { columns_in_words({word}, {"y"}); },
        ThrowsMessage<ConfigError>(AllOf(HasSubstr("got '" + std::string(word) + "'"),
                                         HasSubstr("features=pt,eta,phi charge=charge:int32"))))
        << word;
  }
  const auto fails = [](const Words& inputs, const Words& outputs, const char* message) {
    EXPECT_THAT([&] { columns_in_words(inputs, outputs); },
                ThrowsMessage<ConfigError>(HasSubstr(message)));
  };
  fails({"x=a:int33"}, {"y"}, "block x is of 'int33', expected one of bool, uint8");
  fails({"x=a,b,a"}, {"y"}, "block x has the column a twice");
  fails({"x=a", "x=b"}, {"y"}, "columns: there are two blocks called x");
  fails({"x=a"}, {"y", "y=b"}, "outputs: there are two blocks called y");
  fails({"x=a"}, {"y=b:int33"}, "outputs: block y is of 'int33'");
  fails({"x=a"}, {"y=b,b"}, "outputs: block y has the column b twice");
  fails({}, {"y"}, "got none, expected a block with rows");
  fails({"x=a@call"}, {"y"}, "got numbers for each call alone");
  fails({"x.T=a,b@call", "y=y"}, {"y"}, "got 'x.T=a,b@call'");
  fails({"x=a"}, {}, "outputs: got none");
  fails({"x=a"}, {"y=y@hits"}, "outputs: got 'y=y@hits', and no input is @hits");
  fails({"x=a"}, {"y=y@call"}, "outputs: got 'y=y@call'");
  fails({"x=a"}, {"a,b"}, "outputs: got 'a,b', expected COLUMN or BLOCK=COLUMN");
}

TEST(ColumnsInWords, WhatMayBeTypedForAModel) {
  ModelDescription model;
  model.inputs.resize(2);
  model.inputs[0].name = "x";
  model.inputs[1].name = "edge_index";
  model.outputs.resize(2);
  model.outputs[0].name = "score";
  EXPECT_EQ(words_for(model, "--"),
            "--columns x=COLUMN,… edge_index=COLUMN,… --outputs score=COLUMN,… output1=COLUMN,…");
  model.outputs.clear();
  EXPECT_EQ(words_for(model), "columns x=COLUMN,… edge_index=COLUMN,… outputs output0=COLUMN,…");
}

}  // namespace
}  // namespace tensoa::package
