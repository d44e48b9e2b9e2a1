// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/package/described_columns.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tensoa/core/error.hpp"

namespace tensoa::package {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

ModelDescription model_of(std::vector<BlockDescription> blocks) {
  ModelDescription model;
  for (const BlockDescription& block : blocks) model.inputs.push_back(argument_of(block, 0));
  return model;
}

BlockDescription block_of(std::string name, std::vector<ColumnDescription> columns,
                          FieldInfo element = {ColumnKind::kPlain, DType::kF32, 1, 1}) {
  BlockDescription block;
  block.name = std::move(name);
  block.element = element;
  block.columns = std::move(columns);
  return block;
}

/// Two blocks that both have an x, a vector and a matrix.
ModelDescription two_blocks() {
  return model_of({block_of("hits", {{"x", 0}, {"y", 1}}), block_of("edges", {{"x", 0}}),
                   block_of("u", {{"u", 0}}, {ColumnKind::kVector, DType::kF32, 2, 1}),
                   block_of("m", {{"m", 0}}, {ColumnKind::kMatrix, DType::kF32, 2, 2})});
}

TEST(DescribedColumns, NamesAreThoseOfPlanesWithTheBlockWhereTwoHaveOne) {
  EXPECT_THAT(column_names(two_blocks().inputs), ElementsAre("hits.x", "y", "edges.x", "u.0", "u.1",
                                                             "m.0.0", "m.1.0", "m.0.1", "m.1.1"));
}

TEST(DescribedColumns, NamesInDataComeInOrderOrByName) {
  const ModelDescription model = model_of({block_of("hits", {{"x", 0}, {"y", 1}})});
  EXPECT_THAT(names_in_data(model, {"pt", "eta"}, "columns"),
              UnorderedElementsAre(Pair("x", "pt"), Pair("y", "eta")));
  EXPECT_THAT(names_in_data(model, {"y", "x"}, "columns"),
              UnorderedElementsAre(Pair("x", "x"), Pair("y", "y")));
  EXPECT_THAT(names_in_data(model, {"eta=hits.y"}, "columns"),
              UnorderedElementsAre(Pair("hits.y", "eta")));
}

TEST(DescribedColumns, NamesInDataOfBlocksWithOneNameAreKeptApart) {
  const ModelDescription model =
      model_of({block_of("hits", {{"x", 0}}), block_of("edges", {{"x", 0}})});
  EXPECT_THAT(names_in_data(model, {"a", "b"}, "columns"),
              UnorderedElementsAre(Pair("hits.x", "a"), Pair("edges.x", "b")));
}

TEST(DescribedColumns, NamesThatTheModelDoesNotHaveAreRefused) {
  const ModelDescription model = model_of({block_of("hits", {{"x", 0}, {"y", 1}})});
  const auto message = [](const char* text) {
    return testing::ThrowsMessage<ConfigError>(HasSubstr(text));
  };
  EXPECT_THAT([&] { names_in_data(model, {"pt=z"}, "columns"); },
              message("columns: the model has no column z; it has x, y"));
  EXPECT_THAT(
      [&] {
        names_in_data(model, {"x", "pt"}, "columns");
      },
      message("no column pt; it has x, y"));
  EXPECT_THAT([&] { names_in_data(model, {"pt"}, "columns"); },
              message("got 1 names that are not the model's, expected 2"));
}

TEST(DescribedColumns, ColumnsAtEqualDistancesAreInPlace) {
  const BlockDescription block = block_of("hits", {{"x", 0}, {"y", 1}, {"z", 2}});
  std::vector<float> memory(64);
  const auto at = [&](std::size_t element) {
    return ColumnPlace{reinterpret_cast<std::byte*>(&memory[element]), 0};
  };
  EXPECT_TRUE(is_in_place(block, std::vector{at(0), at(16), at(32)}));
  EXPECT_FALSE(is_in_place(block, std::vector{at(0), at(16), at(48)}));
  EXPECT_FALSE(is_in_place(block, std::vector{at(32), at(16), at(0)}));

  std::vector<BoundBlock> blocks;
  append_described(blocks, block, std::vector{at(0), at(16), at(48)}, 10, Device::cpu(), true);
  EXPECT_EQ(blocks.front().form, BlockForm::kRepacked);
}

}  // namespace
}  // namespace tensoa::package
