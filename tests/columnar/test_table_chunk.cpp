// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/columnar/table_chunk.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../support/temporary_folder.hpp"
#include "tables.hpp"

namespace tensoa::columnar {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class TableChunkTest : public testing::Test {
 protected:
  TableChunk chunk(const test::Columns& columns) {
    const TableFile file(test::write(temporary_.path() / "a.arrow", columns, 1'000));
    std::vector<std::string> names;
    for (const auto& column : columns) names.push_back(column.first);
    return test::only_chunk(file, names);
  }
  template <class T>
  std::vector<T> numbers(const TableChunk& from, DType dtype,
                         Rounding rounding = Rounding::kRefused) {
    const std::byte* data = from.numbers(0, dtype, rounding, memory_);
    const auto* values = reinterpret_cast<const T*>(data);
    return {values, values + from.rows()};
  }

  tensoa::test::TemporaryFolder temporary_;
  NumberMemory memory_;
};

TEST_F(TableChunkTest, NumbersLieWhereTheFileHasThemAlsoInASlice) {
  const TableChunk all = chunk({{"x", test::counted(6)}});
  const std::byte* data = all.numbers(0, DType::kF32, Rounding::kRefused, memory_);
  const TableChunk some = all.slice(2, 3);
  EXPECT_EQ(some.numbers(0, DType::kF32, Rounding::kRefused, memory_), data + 2 * sizeof(float));
  EXPECT_EQ(memory_.copied, 0U);
  EXPECT_THAT(numbers<float>(some, DType::kF32), ElementsAre(2, 3, 4));
  EXPECT_EQ(some.first_row(), 2U);
}

TEST_F(TableChunkTest, ConvertsWhatKeepsEveryNumber) {
  const auto shorts = test::array<arrow::UInt16Builder>(std::vector<std::uint16_t>{0, 65'535});
  EXPECT_THAT(numbers<float>(chunk({{"x", shorts}}), DType::kF32), ElementsAre(0, 65'535));
  EXPECT_EQ(memory_.copied, 8U);
  const auto bits = test::array<arrow::BooleanBuilder>(std::vector<bool>{true, false, true});
  EXPECT_THAT(numbers<std::uint8_t>(chunk({{"x", bits}}), DType::kBool), ElementsAre(1, 0, 1));
  EXPECT_THAT(numbers<std::int64_t>(chunk({{"x", bits}}), DType::kI64), ElementsAre(1, 0, 1));
}

TEST_F(TableChunkTest, IntegersThatDoNotFitAreAnErrorWithTheirRow) {
  const auto longs =
      test::array<arrow::Int64Builder>(std::vector<std::int64_t>{1, 16'777'216, 16'777'217});
  const TableChunk all = chunk({{"n", longs}});
  EXPECT_THAT([&] { numbers<float>(all, DType::kF32); },
              ThrowsMessage<InputError>(HasSubstr("row 2: column n is 16777217")));
  EXPECT_THAT(numbers<float>(all.slice(0, 2), DType::kF32), ElementsAre(1, 16'777'216));
  EXPECT_THAT(numbers<float>(all, DType::kF32, Rounding::kAllowed),
              ElementsAre(1, 16'777'216, 16'777'216));
  EXPECT_THAT([&] { numbers<std::int16_t>(all, DType::kI16, Rounding::kAllowed); },
              ThrowsMessage<InputError>(HasSubstr("row 1: column n is 16777216")));
  const auto most = test::array<arrow::Int64Builder>(
      std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::max()});
  EXPECT_THROW(numbers<double>(chunk({{"n", most}}), DType::kF64), InputError);
  const auto least = test::array<arrow::Int64Builder>(
      std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min()});
  EXPECT_THAT(numbers<double>(chunk({{"n", least}}), DType::kF64), ElementsAre(-0x1p63));
  const auto unsigned_most = test::array<arrow::UInt64Builder>(
      std::vector<std::uint64_t>{std::numeric_limits<std::uint64_t>::max()});
  EXPECT_THROW(numbers<double>(chunk({{"n", unsigned_most}}), DType::kF64), InputError);
}

TEST_F(TableChunkTest, RoundsOnlyWhereThatIsAllowed) {
  const auto doubles = test::array<arrow::DoubleBuilder>(std::vector<double>{0.1});
  const TableChunk all = chunk({{"x", doubles}});
  EXPECT_THAT([&] { numbers<float>(all, DType::kF32); },
              ThrowsMessage<InputError>(HasSubstr("is double, expected float32")));
  EXPECT_THAT(numbers<float>(all, DType::kF32, Rounding::kAllowed), ElementsAre(0.1F));
  EXPECT_THROW(numbers<std::int32_t>(all, DType::kI32, Rounding::kAllowed), InputError);
}

TEST_F(TableChunkTest, NullsAreAnErrorWithRowAndColumn) {
  const TableChunk all = chunk({{"x", test::floats({1, 2, 3}, {true, true, false})}});
  EXPECT_THAT([&] { numbers<float>(all, DType::kF32); },
              ThrowsMessage<InputError>(HasSubstr("row 2: column x is null")));
  EXPECT_THAT(numbers<float>(all.slice(0, 2), DType::kF32), ElementsAre(1, 2));
}

TEST_F(TableChunkTest, ListsAreNumbersAndOffsets) {
  arrow::ListBuilder builder(arrow::default_memory_pool(), std::make_shared<arrow::FloatBuilder>());
  auto& values = static_cast<arrow::FloatBuilder&>(*builder.value_builder());
  for (const std::size_t n : {2, 0, 3}) {
    ASSERT_TRUE(builder.Append().ok());
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_TRUE(values.Append(static_cast<float>(10 * n + i)).ok());
  }
  const TableChunk all = chunk({{"x", builder.Finish().ValueOrDie()}});
  const ListNumbers some = all.slice(1, 2).lists(0, DType::kF32, Rounding::kRefused, memory_);
  EXPECT_THAT(some.offsets, ElementsAre(0, 0, 3));
  EXPECT_EQ(reinterpret_cast<const float*>(some.numbers)[2], 32.0F);
  EXPECT_EQ(memory_.copied, 0U);
  EXPECT_THROW(numbers<float>(all, DType::kF32), InputError);
}

TEST_F(TableChunkTest, FiltersSelectsAndPutsTogether) {
  const TableChunk all = chunk({{"x", test::counted(4)}, {"y", test::floats({5, 6, 7, 8})}});
  const TableChunk y = all.select(std::vector<std::size_t>{1});
  EXPECT_THAT(numbers<float>(y.filter(std::vector<std::uint8_t>{1, 0, 0, 1}), DType::kF32),
              ElementsAre(5, 8));
  const std::vector<TableChunk> parts{y.slice(2, 2), y.slice(0, 1)};
  EXPECT_THAT(numbers<float>(TableChunk::concatenate(parts), DType::kF32), ElementsAre(7, 8, 5));
}

}  // namespace
}  // namespace tensoa::columnar
