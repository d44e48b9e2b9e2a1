// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/columnar/table_chunk.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <type_traits>

#include "../support/temporary_folder.hpp"
#include "tables.hpp"

namespace tensoa::columnar {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr NumberRules kRounds{.rounding = Rounding::kAllowed};

class TableChunkTest : public testing::Test {
 protected:
  TableChunk chunk(const test::Columns& columns) {
    const TableFile file(test::write(temporary_.path() / "a.arrow", columns, 1'000));
    std::vector<std::string> names;
    for (const auto& column : columns) names.push_back(column.first);
    return test::only_chunk(file, names);
  }
  template <class T>
  std::vector<T> numbers(const TableChunk& from, DType dtype, const NumberRules& rules = {}) {
    const std::byte* data = from.numbers(0, dtype, rules, memory_);
    const auto* values = reinterpret_cast<const T*>(data);
    return {values, values + from.rows()};
  }

  tensoa::test::TemporaryFolder temporary_;
  NumberMemory memory_;
};

TEST_F(TableChunkTest, NumbersLieWhereTheFileHasThemAlsoInASlice) {
  const TableChunk all = chunk({{"x", test::counted(6)}});
  const std::byte* data = all.numbers(0, DType::kF32, {}, memory_);
  const TableChunk some = all.slice(2, 3);
  EXPECT_EQ(some.numbers(0, DType::kF32, {}, memory_), data + 2 * sizeof(float));
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
  EXPECT_THAT(numbers<float>(all, DType::kF32, kRounds), ElementsAre(1, 16'777'216, 16'777'216));
  EXPECT_THAT([&] { numbers<std::int16_t>(all, DType::kI16, kRounds); },
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
  EXPECT_THAT(numbers<float>(all, DType::kF32, kRounds), ElementsAre(0.1F));
  EXPECT_THAT(numbers<std::int32_t>(all, DType::kI32, kRounds), ElementsAre(0));
  const auto large = test::array<arrow::DoubleBuilder>(std::vector<double>{1e300});
  EXPECT_THAT(
      [&] {
        numbers<float>(chunk({{"x", large}}), DType::kF32, kRounds);
      },
      ThrowsMessage<InputError>(HasSubstr("is 1e+300, which float32 does not hold")));
}

TEST_F(TableChunkTest, NullsAreAnErrorWithRowAndColumn) {
  const TableChunk all = chunk({{"x", test::floats({1, 2, 3}, {true, true, false})}});
  EXPECT_THAT([&] { numbers<float>(all, DType::kF32); },
              ThrowsMessage<InputError>(HasSubstr("row 2: column x is null")));
  EXPECT_THAT(numbers<float>(all.slice(0, 2), DType::kF32), ElementsAre(1, 2));
}

TEST_F(TableChunkTest, ANullBecomesWhatTheRulesSayWhereTheTypeHoldsIt) {
  const TableChunk all = chunk({{"x", test::floats({1, 2, 3}, {true, false, true})}});
  const std::byte* before = all.slice(2, 1).numbers(0, DType::kF32, {}, memory_);
  EXPECT_THAT(numbers<float>(all, DType::kF32, {.null_value = 7}), ElementsAre(1, 7, 3));
  EXPECT_EQ(*reinterpret_cast<const float*>(before), 3.0F);  // the file's stay as they are
  EXPECT_THAT(numbers<std::int32_t>(all, DType::kI32, {.null_value = 7}), ElementsAre(1, 7, 3));
  EXPECT_THAT([&] { numbers<std::int32_t>(all, DType::kI32, {.null_value = kNan}); },
              ThrowsMessage<InputError>(HasSubstr("row 1: column x is null")));
  const auto truths =
      test::array<arrow::BooleanBuilder>(std::vector<bool>{true, false}, {true, false});
  const TableChunk bits = chunk({{"x", truths}});
  EXPECT_THAT(numbers<std::uint8_t>(bits, DType::kBool, {.null_value = 1}), ElementsAre(1, 1));
  EXPECT_THROW(numbers<std::uint8_t>(bits, DType::kBool, {.null_value = 2}), InputError);
}

TEST_F(TableChunkTest, WholeFloatingPointBecomesIntegers) {
  const auto doubles = test::array<arrow::DoubleBuilder>(
      std::vector<double>{-3, kNan, 2.5, 0x1p63, -0x1p63}, {true, true, true, true, true});
  const TableChunk all = chunk({{"n", doubles}});
  const auto faults = all.faults(0, DType::kI64, {});
  ASSERT_EQ(faults.size(), 4U);
  EXPECT_EQ(faults[0].row, 1U);
  EXPECT_EQ(faults[0].kind, FaultKind::kNull);  // how tables without nulls write one
  EXPECT_EQ(to_string(faults[1], DType::kI64), "is 2.5, which is not a whole number");
  EXPECT_EQ(to_string(faults[2], DType::kI64), "is 9223372036854775808, which int64 does not hold");
  EXPECT_EQ(faults[3].kind, FaultKind::kInexact);
  EXPECT_EQ(all.faults(0, DType::kI64, {.null_value = 0}).size(), 3U);
  EXPECT_THAT(numbers<std::int64_t>(all.slice(0, 3), DType::kI64,
                                    {.rounding = Rounding::kAllowed, .null_value = 9}),
              ElementsAre(-3, 9, 2));  // half to even
  EXPECT_THAT(numbers<std::int64_t>(all.slice(4, 1), DType::kI64, {.rounding = Rounding::kAllowed}),
              ElementsAre(std::numeric_limits<std::int64_t>::min()));
}

TEST_F(TableChunkTest, WholeNumbersThatMayHaveBeenRoundedAreNotTaken) {
  const auto doubles = test::array<arrow::DoubleBuilder>(
      std::vector<double>{0x1p53 - 1, 0x1p53, -0x1p53}, {true, true, true});
  const auto floats = test::floats({0x1p24F - 1, 0x1p24F, -0x1p25F}, {true, true, true});
  const TableChunk all = chunk({{"d", doubles}, {"f", floats}});
  for (const std::size_t column : {0U, 1U}) {
    const auto faults = all.faults(column, DType::kI64, {});
    ASSERT_EQ(faults.size(), 2U);
    EXPECT_EQ(faults[0].kind, FaultKind::kInexact);
    EXPECT_THROW(all.numbers(column, DType::kI64, {}, memory_), InputError);
  }
  EXPECT_THAT(to_string(all.faults(0, DType::kI64, {})[0], DType::kI64),
              HasSubstr("9007199254740992, which may be another whole number"));
  EXPECT_THAT(numbers<std::int64_t>(all, DType::kI64, {.rounding = Rounding::kAllowed}),
              ElementsAre((1LL << 53) - 1, 1LL << 53, -(1LL << 53)));
}

TEST_F(TableChunkTest, DecimalsAreExactOrRounded) {
  arrow::Decimal128Builder builder(arrow::decimal128(20, 1));
  for (const char* text : {"9007199254740993.0", "0.5"}) {
    ASSERT_TRUE(builder.Append(arrow::Decimal128::FromString(text).ValueOrDie()).ok());
  }
  ASSERT_TRUE(builder.AppendNull().ok());
  const TableChunk all = chunk({{"n", builder.Finish().ValueOrDie()}});
  EXPECT_THAT(numbers<std::int64_t>(all.slice(0, 1), DType::kI64), ElementsAre(9007199254740993));
  const auto faults = all.faults(0, DType::kI64, {});
  ASSERT_EQ(faults.size(), 2U);
  EXPECT_EQ(faults[0].kind, FaultKind::kNotWhole);
  EXPECT_EQ(faults[1].kind, FaultKind::kNull);
  EXPECT_THAT([&] { numbers<float>(all, DType::kF32); },
              ThrowsMessage<InputError>(HasSubstr("is decimal128(20, 1), expected float32")));
  EXPECT_THAT(numbers<float>(all.slice(1, 1), DType::kF32, kRounds), ElementsAre(0.5F));
}

TEST_F(TableChunkTest, DictionariesAreTheirValuesAlsoNulls) {
  const auto values = test::floats({5, 6}, {true, false});
  const auto places =
      test::array<arrow::Int8Builder>(std::vector<std::int8_t>{0, 1, 0}, {true, true, false});
  const TableChunk all =
      chunk({{"x", arrow::DictionaryArray::FromArrays(places, values).ValueOrDie()}});
  EXPECT_THAT(numbers<float>(all, DType::kF32, {.null_value = 0}), ElementsAre(5, 0, 0));
  EXPECT_EQ(all.faults(0, DType::kF32, {}).size(), 2U);
  // Where nothing is converted, the values live as long as the memory.
  const auto* numbers =
      reinterpret_cast<const float*>(all.slice(0, 1).numbers(0, DType::kF32, {}, memory_));
  EXPECT_EQ(*numbers, 5.0F);
  EXPECT_NE(memory_.unpacked, nullptr);
}

/// [[1, null], null over [2, 3], [], [4]]
std::shared_ptr<arrow::Array> lists_with_nulls() {
  const auto values = test::floats({1, 0, 2, 3, 4}, {true, false, true, true, true});
  const auto offsets = test::array<arrow::Int32Builder>(std::vector<std::int32_t>{0, 2, 4, 4, 5});
  const auto validity = arrow::AllocateEmptyBitmap(4).ValueOrDie();
  validity->mutable_data()[0] = 0b1101;
  return std::make_shared<arrow::ListArray>(arrow::list(arrow::float32()), 4,
                                            offsets->data()->buffers[1], values, validity);
}

TEST_F(TableChunkTest, ListsWithNullsAreFaultsOfTheirRows) {
  const TableChunk all = chunk({{"x", lists_with_nulls()}});
  const auto rows = [&](const NumberRules& rules, std::size_t first = 0) {
    std::vector<std::size_t> found;
    for (const RowFault& fault : all.slice(first, 4 - first).faults(0, DType::kF32, rules)) {
      found.push_back(fault.row);
    }
    return found;
  };
  EXPECT_THAT(rows({}), ElementsAre(0, 1));
  EXPECT_THAT(rows({}, 1), ElementsAre(0));
  EXPECT_THAT(rows({.null_value = 0}), ElementsAre(1));  // of unknown length
  EXPECT_THAT(all.lengths(0), ElementsAre(2, 0, 0, 1));
  EXPECT_THROW(all.lists(0, DType::kF32, {.null_value = 0}, memory_), InputError);
  const TableChunk rest = all.filter(std::vector<std::uint8_t>{1, 0, 1, 1});
  const ListNumbers lists = rest.lists(0, DType::kF32, {.null_value = 8}, memory_);
  EXPECT_THAT(lists.offsets, ElementsAre(0, 2, 2, 3));
  EXPECT_EQ(reinterpret_cast<const float*>(lists.numbers)[1], 8.0F);
  EXPECT_EQ(reinterpret_cast<const float*>(lists.numbers)[2], 4.0F);
}

TEST_F(TableChunkTest, ValidityIsThatOfTheRowsOfASlice) {
  const TableChunk all = chunk({{"x", test::floats({1, 2, 3}, {true, false, true})}});
  EXPECT_THAT(all.validity(0), ElementsAre(1, 0, 1));
  EXPECT_THAT(all.slice(1, 2).validity(0), ElementsAre(0, 1));
  EXPECT_THAT(all.slice(2, 1).validity(0), ElementsAre());
}

/// [[0, 1], [2, 3], [4, 5], [6, 7]] in each type of lists.
arrow::ArrayVector lists_of_every_type(const std::shared_ptr<arrow::Array>& elements) {
  const auto field = arrow::field("item", elements->type());
  const auto small = test::array<arrow::Int32Builder>(std::vector<std::int32_t>{0, 2, 4, 6, 8});
  const auto large = test::array<arrow::Int64Builder>(std::vector<std::int64_t>{0, 2, 4, 6, 8});
  return {arrow::ListArray::FromArrays(*small, *elements).ValueOrDie(),
          arrow::LargeListArray::FromArrays(*large, *elements).ValueOrDie(),
          arrow::FixedSizeListArray::FromArrays(elements, 2).ValueOrDie()};
}

TEST_F(TableChunkTest, ListsOfEveryTypeAreTheSame) {
  for (const auto& lists : lists_of_every_type(test::counted(8))) {
    SCOPED_TRACE(lists->type()->ToString());
    const TableChunk all = chunk({{"x", lists}});
    EXPECT_THAT(all.lengths(0), ElementsAre(2, 2, 2, 2));
    const TableChunk some = all.slice(1, 3).filter(std::vector<std::uint8_t>{1, 0, 1});
    for (const DType dtype : {DType::kF32, DType::kF64}) {
      const ListNumbers read = some.lists(0, dtype, {}, memory_);
      EXPECT_THAT(read.offsets, ElementsAre(0, 2, 4));
      const auto* floats = reinterpret_cast<const float*>(read.numbers);
      const auto* doubles = reinterpret_cast<const double*>(read.numbers);
      for (std::size_t i = 0; i < 4; ++i) {
        const double expected = i < 2 ? 2.0 + static_cast<double>(i) : 4.0 + static_cast<double>(i);
        EXPECT_EQ(dtype == DType::kF32 ? double{floats[i]} : doubles[i], expected);
      }
    }
    const std::vector<TableChunk> parts{all.slice(3, 1), all.slice(0, 1)};
    const ListNumbers joined = TableChunk::concatenate(parts).lists(0, DType::kF32, {}, memory_);
    EXPECT_EQ(*reinterpret_cast<const float*>(joined.numbers), 6.0F);
    EXPECT_THAT([&] { all.numbers(0, DType::kF32, {}, memory_); },
                ThrowsMessage<InputError>(
                    HasSubstr("row 0: column x is " + lists->type()->ToString() + ", expected")));
  }
}

TEST_F(TableChunkTest, ListsOfADictionaryAreItsValues) {
  const auto places =
      test::array<arrow::Int8Builder>(std::vector<std::int8_t>{0, 1, 1, 0, 1, 1, 0, 0},
                                      {true, true, true, true, true, false, true, true});
  const auto elements =
      arrow::DictionaryArray::FromArrays(places, test::floats({5, 6})).ValueOrDie();
  for (const auto& lists : lists_of_every_type(elements)) {
    SCOPED_TRACE(lists->type()->ToString());
    const TableChunk all = chunk({{"x", lists}});
    const ListNumbers some = all.slice(1, 1).lists(0, DType::kF32, {}, memory_);
    EXPECT_EQ(reinterpret_cast<const float*>(some.numbers)[0], 6.0F);
    EXPECT_EQ(reinterpret_cast<const float*>(some.numbers)[1], 5.0F);
    const auto faults = all.faults(0, DType::kF32, {});
    ASSERT_EQ(faults.size(), 1U);
    EXPECT_EQ(faults[0].row, 2U);
    EXPECT_THAT([&] { all.lists(0, DType::kF32, {}, memory_); },
                ThrowsMessage<InputError>(HasSubstr("row 2: column x is null")));
    const ListNumbers filled = all.lists(0, DType::kF32, {.null_value = -1}, memory_);
    EXPECT_EQ(reinterpret_cast<const float*>(filled.numbers)[5], -1.0F);
  }
}

TEST_F(TableChunkTest, FixedSizeListsThatAreNullAreFaultsOfTheirRows) {
  const auto validity = arrow::AllocateEmptyBitmap(4).ValueOrDie();
  validity->mutable_data()[0] = 0b1011;
  const auto lists = std::make_shared<arrow::FixedSizeListArray>(
      arrow::fixed_size_list(arrow::float32(), 2), 4, test::counted(8), validity);
  const TableChunk all = chunk({{"x", lists}});
  EXPECT_THAT(all.lengths(0), ElementsAre(2, 2, 0, 2));
  EXPECT_THAT([&] { all.lists(0, DType::kF32, {.null_value = 0}, memory_); },
              ThrowsMessage<InputError>(HasSubstr("row 2: column x is null")));
  const ListNumbers rest = all.slice(3, 1).lists(0, DType::kF32, {}, memory_);
  EXPECT_EQ(reinterpret_cast<const float*>(rest.numbers)[0], 6.0F);
}

TEST_F(TableChunkTest, ListsAreReadOfColumnsOfListsOnly) {
  for (const std::vector<bool>& valid : {std::vector<bool>{}, std::vector<bool>{true, false}}) {
    const TableChunk all = chunk({{"x", test::floats({1, 2}, valid)}});
    for (const NumberRules& rules : {NumberRules{}, NumberRules{.null_value = 0}}) {
      EXPECT_THAT([&] { all.lists(0, DType::kF32, rules, memory_); },
                  ThrowsMessage<InputError>(HasSubstr("column x is float, expected lists")));
    }
    EXPECT_THAT([&] { all.lengths(0); }, ThrowsMessage<InputError>(HasSubstr("expected lists")));
  }
}

TEST_F(TableChunkTest, ListsOfListsMapsAndTextAreNamedNotRead) {
  const auto inner = lists_of_every_type(test::counted(8)).front();
  const auto offsets = test::array<arrow::Int32Builder>(std::vector<std::int32_t>{0, 4});
  arrow::StringBuilder builder;
  ASSERT_TRUE(builder.Append("1").ok());
  const auto text = builder.Finish().ValueOrDie();
  const auto maps =
      arrow::MapArray::FromArrays(test::array<arrow::Int32Builder>(std::vector<std::int32_t>{0, 1}),
                                  text, test::floats({1}))
          .ValueOrDie();
  const TableChunk all =
      chunk({{"deep", arrow::ListArray::FromArrays(*offsets, *inner).ValueOrDie()},
             {"text", text},
             {"map", maps},
             {"none", std::make_shared<arrow::NullArray>(1)}});
  EXPECT_THAT([&] { all.lists(0, DType::kF32, {}, memory_); },
              ThrowsMessage<InputError>(HasSubstr("column deep is list<")));
  const char* const types[] = {"column deep is list<", "column text is string",
                               "column map is map<", "column none is null"};
  for (std::size_t column = 0; column < 4; ++column) {
    EXPECT_THAT([&] { all.numbers(column, DType::kF32, kRounds, memory_); },
                ThrowsMessage<InputError>(HasSubstr(types[column])));
    EXPECT_THAT([&] { all.faults(column, DType::kI64, kRounds); },
                ThrowsMessage<InputError>(HasSubstr(types[column])));
  }
}

TEST_F(TableChunkTest, DecimalsOfAllWidthsAndScalesAreTheirValues) {
  const auto check = [&]<class Builder, class Decimal>(
                         const std::shared_ptr<arrow::DataType>& type, std::type_identity<Builder>,
                         std::type_identity<Decimal>, std::vector<std::int64_t> digits,
                         std::vector<double> expected) {
    Builder builder(type);
    for (const std::int64_t digit : digits) ASSERT_TRUE(builder.Append(Decimal(digit)).ok());
    const TableChunk all = chunk({{"x", builder.Finish().ValueOrDie()}});
    EXPECT_THAT(numbers<double>(all, DType::kF64, kRounds), testing::ElementsAreArray(expected))
        << type->ToString();
  };
  check(arrow::decimal32(5, 2), std::type_identity<arrow::Decimal32Builder>{},
        std::type_identity<arrow::Decimal32>{}, {12345, -1, 0}, {123.45, -0.01, 0});
  check(arrow::decimal64(15, 0), std::type_identity<arrow::Decimal64Builder>{},
        std::type_identity<arrow::Decimal64>{}, {123456789012345, -7}, {123456789012345, -7});
  check(arrow::decimal256(50, 3), std::type_identity<arrow::Decimal256Builder>{},
        std::type_identity<arrow::Decimal256>{}, {1500, -2500}, {1.5, -2.5});
  check(arrow::decimal128(5, -2), std::type_identity<arrow::Decimal128Builder>{},
        std::type_identity<arrow::Decimal128>{}, {3, -4}, {300, -400});
}

TEST_F(TableChunkTest, DecimalsBeyond64BitsAreOutOfEveryRangeOfIntegers) {
  arrow::Decimal128Builder builder(arrow::decimal128(38, 0));
  for (const char* text : {"9223372036854775807", "9223372036854775808", "-9223372036854775808",
                           "99999999999999999999999999999999999999"}) {
    ASSERT_TRUE(builder.Append(arrow::Decimal128::FromString(text).ValueOrDie()).ok());
  }
  const TableChunk all = chunk({{"n", builder.Finish().ValueOrDie()}});
  for (const NumberRules& rules : {NumberRules{}, kRounds}) {
    const auto faults = all.faults(0, DType::kI64, rules);
    ASSERT_EQ(faults.size(), 2U);
    EXPECT_EQ(faults[0].row, 1U);
    EXPECT_EQ(faults[0].kind, FaultKind::kOutOfRange);
    EXPECT_EQ(faults[1].row, 3U);
  }
  EXPECT_THAT(numbers<std::int64_t>(all.filter(std::vector<std::uint8_t>{1, 0, 1, 0}), DType::kI64),
              ElementsAre(std::numeric_limits<std::int64_t>::max(),
                          std::numeric_limits<std::int64_t>::min()));
}

TEST_F(TableChunkTest, AFilterOfAnotherLengthIsAnError) {
  const TableChunk all = chunk({{"x", test::counted(3)}});
  EXPECT_THAT(
      [&] {
        all.filter(std::vector<std::uint8_t>{1, 1});
      },
      ThrowsMessage<InputError>(HasSubstr("cannot be filtered")));
}

TEST_F(TableChunkTest, ListsAreNumbersAndOffsets) {
  arrow::ListBuilder builder(arrow::default_memory_pool(), std::make_shared<arrow::FloatBuilder>());
  auto& values = static_cast<arrow::FloatBuilder&>(*builder.value_builder());
  for (const std::size_t n : {2U, 0U, 3U}) {
    ASSERT_TRUE(builder.Append().ok());
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_TRUE(values.Append(static_cast<float>(10 * n + i)).ok());
  }
  const TableChunk all = chunk({{"x", builder.Finish().ValueOrDie()}});
  const ListNumbers some = all.slice(1, 2).lists(0, DType::kF32, {}, memory_);
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
