// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/columnar/table_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include <limits>
#include <numeric>

#include "../support/temporary_folder.hpp"
#include "tables.hpp"

namespace tensoa::columnar {
namespace {

namespace fs = std::filesystem;

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::ThrowsMessage;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class TableFileTest : public testing::Test {
 protected:
  fs::path path(const std::string& name) const { return temporary_.path() / name; }

  tensoa::test::TemporaryFolder temporary_;
};

std::vector<float> counted(std::size_t n) {
  std::vector<float> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  return numbers;
}

TEST_F(TableFileTest, EveryFormatIsReadInChunksInOrder) {
  std::string text = "x,y\n";
  for (int i = 0; i < 10; ++i) text += std::to_string(i) + ",a\n";
  test::write_text(path("a.csv"), text);
  for (const char* name : {"a.parquet", "a.arrow", "a.ipc"}) {
    test::write(path(name), {{"y", test::floats(std::vector<float>(10))}, {"x", test::counted(10)}},
                7);
  }
  for (const char* name : {"a.parquet", "a.arrow", "a.ipc", "a.csv"}) {
    const TableFile file(path(name));
    EXPECT_THAT(file.columns(), SizeIs(2)) << name;
    const test::Read all = test::read(file, "x");
    EXPECT_EQ(all.numbers, counted(10)) << name;
    EXPECT_THAT(all.lost, SizeIs(0)) << name;
    for (const std::size_t rows : all.chunks) EXPECT_LE(rows, 4U) << name;
  }
  EXPECT_EQ(TableFile(path("a.parquet")).rows(), 10U);
  EXPECT_EQ(TableFile(path("a.csv")).rows(), std::nullopt);
}

TEST_F(TableFileTest, PartsOfParquetAreReadInAnyOrderAndOutliveTheFile) {
  std::vector<std::unique_ptr<TablePart>> parts;
  {
    const TableFile file(test::write(path("a.parquet"), {{"x", test::counted(6)}}, 3));
    const auto all = file.read({.columns = {"x"}});
    while (auto part = all->next()) parts.push_back(std::move(part));
  }
  ASSERT_THAT(parts, SizeIs(2));
  EXPECT_EQ(parts[1]->first_row(), 3U);
  EXPECT_EQ(parts[1]->next()->first_row(), 3U);
  EXPECT_EQ(parts[0]->next()->rows(), 3U);
  EXPECT_FALSE(parts[0]->next());
}

TEST_F(TableFileTest, FilesWithoutRowsHaveColumns) {
  for (const char* name : {"a.parquet", "a.arrow", "a.ipc"}) {
    const TableFile file(test::write(path(name), {{"x", test::counted(0)}}, 3));
    EXPECT_THAT(test::read(file, "x").numbers, SizeIs(0));
    EXPECT_EQ(file.empty_chunk({.columns = {"x"}}).columns(), 1U);
  }
  EXPECT_THAT(test::read(TableFile(test::write_text(path("a.csv"), "x,y\n")), "x").numbers,
              SizeIs(0));
}

TEST_F(TableFileTest, PartsWithoutRowsAreNoGapsInTheNumbersOfRows) {
  const auto all = test::table({{"x", test::counted(6)}});
  const auto none = all->Slice(0, 0);
  const std::vector<std::shared_ptr<arrow::Table>> parts{none, all->Slice(0, 2), none,
                                                         none, all->Slice(2, 4), none};
  {
    const auto stream = arrow::io::FileOutputStream::Open(path("a.parquet").string()).ValueOrDie();
    const auto writer =
        parquet::arrow::FileWriter::Open(*all->schema(), arrow::default_memory_pool(), stream)
            .ValueOrDie();
    for (const auto& part : parts) ASSERT_TRUE(writer->WriteTable(*part, 10).ok());
    ASSERT_TRUE(writer->Close().ok());
  }
  for (const char* name : {"a.arrow", "a.ipc"}) {
    const auto stream = arrow::io::FileOutputStream::Open(path(name).string()).ValueOrDie();
    const auto writer = name == std::string("a.ipc")
                            ? arrow::ipc::MakeStreamWriter(stream, all->schema()).ValueOrDie()
                            : arrow::ipc::MakeFileWriter(stream, all->schema()).ValueOrDie();
    for (const auto& part : parts) {
      ASSERT_TRUE(writer->WriteRecordBatch(*part->CombineChunksToBatch().ValueOrDie()).ok());
    }
    ASSERT_TRUE(writer->Close().ok() && stream->Close().ok());
  }
  for (const char* name : {"a.parquet", "a.arrow", "a.ipc"}) {
    const TableFile file(path(name));
    EXPECT_EQ(test::read(file, "x").numbers, counted(6)) << name;
    std::vector<std::uint64_t> first_rows;
    const auto read = file.read({.columns = {"x"}});
    std::size_t empty = 0;
    while (const auto part = read->next()) {
      const auto chunk = part->next();
      if (chunk)
        first_rows.push_back(chunk->first_row());
      else
        ++empty;
      EXPECT_FALSE(part->next());
    }
    EXPECT_THAT(first_rows, ElementsAre(0, 2)) << name;
    EXPECT_EQ(empty, 4U) << name;
  }
}

TEST_F(TableFileTest, ColumnsAreReadInTheOrderThatIsAskedForAlsoTwice) {
  test::write_text(path("a.csv"), "x,y,z\n0,5,8\n1,6,9\n");
  for (const char* name : {"a.parquet", "a.arrow", "a.ipc"}) {
    test::write(path(name),
                {{"x", test::counted(2)}, {"y", test::floats({5, 6})}, {"z", test::floats({8, 9})}},
                7);
  }
  for (const char* name : {"a.parquet", "a.arrow", "a.ipc", "a.csv"}) {
    const ReadOptions options{.columns = {"z", "x", "z"},
                              .text_types = {{"x", DType::kF32}, {"z", DType::kF32}}};
    const TableFile file(path(name));
    EXPECT_EQ(file.empty_chunk(options).columns(), 3U);
    const auto part = file.read(options)->next();
    const TableChunk chunk = part->next().value();
    ASSERT_EQ(chunk.columns(), 3U) << name;
    NumberMemory memory;
    const float expected[] = {9, 1, 9};
    for (std::size_t i = 0; i < 3; ++i) {
      const auto* numbers =
          reinterpret_cast<const float*>(chunk.numbers(i, DType::kF32, {}, memory));
      EXPECT_EQ(numbers[1], expected[i]) << name << i;
    }
  }
}

TEST_F(TableFileTest, RowsAreCountedWithoutColumnsToo) {
  for (const char* name : {"a.parquet", "a.arrow", "a.ipc"}) {
    const TableFile file(test::write(path(name), {{"x", test::counted(10)}}, 7));
    const auto parts = file.read({.columns = {}, .rows_per_chunk = 4});
    std::vector<std::size_t> rows;
    while (const auto part = parts->next()) {
      while (const auto chunk = part->next()) rows.push_back(chunk->rows());
    }
    EXPECT_THAT(rows, ElementsAre(4, 3, 3)) << name;
  }
}

TEST_F(TableFileTest, BatchesHaveDictionariesThatDiffer) {
  const auto batch = [](std::vector<float> values) {
    const auto places = test::array<arrow::Int8Builder>(std::vector<std::int8_t>{1, 0, 1});
    const auto numbers =
        arrow::DictionaryArray::FromArrays(places, test::floats(std::move(values))).ValueOrDie();
    return test::table({{"x", numbers}})->CombineChunksToBatch().ValueOrDie();
  };
  const auto first = batch({5, 6});
  const auto stream = arrow::io::FileOutputStream::Open(path("a.ipc").string()).ValueOrDie();
  const auto writer = arrow::ipc::MakeStreamWriter(stream, first->schema()).ValueOrDie();
  ASSERT_TRUE(writer->WriteRecordBatch(*first).ok() &&
              writer->WriteRecordBatch(*batch({7, 8})).ok() && writer->Close().ok() &&
              stream->Close().ok());
  const TableFile file(path("a.ipc"));
  EXPECT_EQ(file.columns().front().numbers, NumberType::kF32);
  EXPECT_THAT(test::read(file, "x").numbers, ElementsAre(6, 5, 6, 8, 7, 8));
  std::vector<TableChunk> chunks;
  const auto parts = file.read({.columns = {"x"}});
  while (const auto part = parts->next()) chunks.push_back(part->next().value());
  NumberMemory memory;
  const auto* numbers = reinterpret_cast<const float*>(
      TableChunk::concatenate(chunks).numbers(0, DType::kF32, {}, memory));
  EXPECT_THAT(std::vector(numbers, numbers + 6), ElementsAre(6, 5, 6, 8, 7, 8));
}

TEST_F(TableFileTest, FieldsOfStructsInListsOfEveryTypeAreLists) {
  const auto structs = arrow::StructArray::Make({test::counted(4), test::floats({5, 6, 7, 8})},
                                                std::vector<std::string>{"pt", "eta"})
                           .ValueOrDie();
  const auto small = test::array<arrow::Int32Builder>(std::vector<std::int32_t>{0, 2, 4});
  const auto large = test::array<arrow::Int64Builder>(std::vector<std::int64_t>{0, 2, 4});
  const test::Columns columns{
      {"small", arrow::ListArray::FromArrays(*small, *structs).ValueOrDie()},
      {"large", arrow::LargeListArray::FromArrays(*large, *structs).ValueOrDie()},
      {"fixed", arrow::FixedSizeListArray::FromArrays(structs, 2).ValueOrDie()}};
  for (const char* name : {"a.parquet", "a.arrow", "a.ipc"}) {
    const TableFile file(test::write(path(name), columns, 2));
    for (const auto& [column, array] : columns) {
      const TableChunk rows = test::only_chunk(file, {column + ".eta"}).slice(1, 1);
      NumberMemory memory;
      const ListNumbers lists = rows.lists(0, DType::kF32, {}, memory);
      EXPECT_THAT(lists.offsets, ElementsAre(0, 2)) << name << column;
      const auto* numbers = reinterpret_cast<const float*>(lists.numbers);
      EXPECT_THAT(std::vector(numbers, numbers + 2), ElementsAre(7, 8)) << name << column;
    }
  }
}

TEST_F(TableFileTest, TextOfALaterBlockThatIsNotANumberEndsTheFile) {
  std::string text = "x,y\n";
  for (int i = 0; i < 400'000; ++i) text += std::to_string(i % 1'000) + ",1\n";
  const TableFile file(test::write_text(path("a.csv"), text + "one,1\n"));
  const test::Read all = test::read(file, "x", 1'000);
  ASSERT_THAT(all.lost, ElementsAre(AllOf(HasSubstr("a.csv: after row "), HasSubstr("'one'"))));
  EXPECT_GE(all.numbers.size(), 100'000U);
  EXPECT_THAT(all.lost[0], HasSubstr("after row " + std::to_string(all.numbers.size()) + ':'));
}

TEST_F(TableFileTest, WholeNumbersOfTextThatTheTypeDoesNotHoldAreAnError) {
  const TableFile file(test::write_text(path("a.csv"), "x\n1\n128\n"));
  const auto part = file.read({.columns = {"x"}, .text_types = {{"x", DType::kI8}}})->next();
  EXPECT_THAT([&] { part->next(); },
              ThrowsMessage<InputError>(AllOf(HasSubstr("a.csv"), HasSubstr("'128'"))));
}

TEST_F(TableFileTest, WhatCannotBeOpenedIsAnError) {
  const auto opened = [&](const std::string& name) { return [=, this] { TableFile{path(name)}; }; };
  EXPECT_THAT(opened("none.parquet"),
              ThrowsMessage<InputError>(HasSubstr("there is no such file")));
  EXPECT_THAT(opened("a.txt"), ThrowsMessage<InputError>(HasSubstr("got the ending \".txt\"")));
  EXPECT_THAT(opened("a.root"), ThrowsMessage<InputError>(HasSubstr("python -m tensoa.from_root")));
  fs::create_directory(path("folder.csv"));
  EXPECT_THAT(opened("folder.csv"), ThrowsMessage<InputError>(HasSubstr("got a folder")));
  for (const char* name : {"empty.parquet", "empty.arrow", "empty.csv"}) {
    test::write_text(path(name), "");
    EXPECT_THAT(opened(name), ThrowsMessage<InputError>(HasSubstr("empty file"))) << name;
  }
  for (const char* name : {"noise.parquet", "noise.arrow"}) {
    test::write_text(path(name), std::string(100, 'x'));
    EXPECT_THAT(opened(name), ThrowsMessage<InputError>(HasSubstr("damaged or truncated"))) << name;
  }
  for (const char* name : {"a.parquet", "a.arrow"}) {
    test::write(path(name), {{"x", test::counted(1'000)}}, 100);
    fs::resize_file(path(name), fs::file_size(path(name)) / 2);
    EXPECT_THAT(opened(name), ThrowsMessage<InputError>(HasSubstr("damaged or truncated"))) << name;
  }
}

TEST_F(TableFileTest, ColumnsThatAreAbsentOrTwiceAreAnError) {
  const TableFile file(
      test::write(path("a.arrow"),
                  {{"pt", test::counted(1)}, {"a", test::counted(1)}, {"a", test::counted(1)}}, 1));
  EXPECT_THAT([&] { file.read({.columns = {"pT"}}); },
              ThrowsMessage<InputError>(AllOf(HasSubstr("has no column pT; there are pt, a, a"),
                                              HasSubstr("the nearest is pt"))));
  EXPECT_THAT([&] { file.read({.columns = {"a"}}); },
              ThrowsMessage<InputError>(HasSubstr("is there 2 times")));
  const TableFile greek(test::write(path("b.arrow"), {{"φ\x1b", test::counted(1)}}, 1));
  EXPECT_THAT([&] { greek.read({.columns = {"eta"}}); },
              ThrowsMessage<InputError>(HasSubstr("there are φ\\x1b")));
}

TEST_F(TableFileTest, ADamagedRowGroupLosesItsRowsAlone) {
  const fs::path file = test::write(path("b.parquet"), {{"x", test::counted(30'000)}}, 10'000);
  EXPECT_EQ(test::read(TableFile(file), "x", 1'000).numbers, counted(30'000));
  // A page header that is overwritten ends its row group, and no other.
  const auto offset = parquet::ParquetFileReader::OpenFile(file.string())
                          ->metadata()
                          ->RowGroup(1)
                          ->ColumnChunk(0)
                          ->data_page_offset();
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekp(offset);
  bytes << std::string(32, '\xFF');
  bytes.close();
  const test::Read all = test::read(TableFile(file), "x", 1'000);
  EXPECT_THAT(all.lost, ElementsAre(AllOf(HasSubstr("b.parquet"), HasSubstr("row group 1"))));
  EXPECT_GE(all.numbers.size(), 20'000U);
  EXPECT_EQ(all.numbers.back(), 29'999.0F);
}

TEST_F(TableFileTest, ATruncatedStreamKeepsTheBatchesBefore) {
  const fs::path file = test::write(path("a.ipc"), {{"x", test::counted(1'000)}}, 100);
  fs::resize_file(file, fs::file_size(file) / 2);
  const test::Read all = test::read(TableFile(file), "x", 50);
  EXPECT_THAT(all.lost, ElementsAre(AllOf(HasSubstr("a.ipc"), HasSubstr("damaged or truncated"))));
  EXPECT_GE(all.numbers.size(), 300U);
  EXPECT_EQ(all.numbers.size() % 100, 0U);
}

TEST_F(TableFileTest, ALineThatIsTooShortEndsATextWithTheRowsBefore) {
  std::string text = "x,y\n";
  for (int i = 0; i < 400'000; ++i) text += std::to_string(i % 1'000) + ",1\n";
  const test::Read all =
      test::read(TableFile(test::write_text(path("a.csv"), text + "17\n")), "x", 1'000);
  EXPECT_THAT(all.lost, ElementsAre(HasSubstr("Expected 2 columns, got 1")));
  EXPECT_GE(all.numbers.size(), 100'000U);
}

TEST_F(TableFileTest, TextHasNaNAndNulls) {
  const TableFile file(test::write_text(path("a.csv"), "x\nnan\n1\n\"\"\n"));
  const test::Read all = test::read(file, "x", 2);
  ASSERT_THAT(all.numbers, SizeIs(2));
  EXPECT_NE(all.numbers[0], all.numbers[0]);
  EXPECT_THAT(all.lost, ElementsAre(HasSubstr("row 2: column x is null")));
}

TEST_F(TableFileTest, TextThatSaysInfinityIsInfinite) {
  const TableFile file(test::write_text(path("a.csv"), "x\ninf\n -Infinity\n1\n"));
  EXPECT_THAT(test::read(file, "x").numbers, ElementsAre(kInfinity, -kInfinity, 1));
}

TEST_F(TableFileTest, AColumnOfTextWithInfinityCanBeReadTwice) {
  const TableFile file(test::write_text(path("a.csv"), "x,y\ninf,1\n"));
  const auto part = file.read({.columns = {"x", "x"}, .text_types = {{"x", DType::kF32}}})->next();
  NumberMemory memory;
  const TableChunk chunk = part->next().value();
  for (const std::size_t column : {0U, 1U}) {
    EXPECT_EQ(*reinterpret_cast<const float*>(chunk.numbers(column, DType::kF32, {}, memory)),
              kInfinity);
  }
}

TEST_F(TableFileTest, NumbersOfTextBeyondFloatingPointAreAnErrorAndNotInfinite) {
  const TableFile file(test::write_text(path("a.csv"), "x,y\ninf,1\n1e39,-1e400\n"));
  EXPECT_THAT(
      test::read(file, "x").lost,
      ElementsAre(AllOf(HasSubstr("a.csv: row 1: column x: got 1e39"), HasSubstr("float"))));
  const auto in_double = file.read({.columns = {"y"}, .text_types = {{"y", DType::kF64}}})->next();
  EXPECT_THAT([&] { in_double->next(); },
              ThrowsMessage<InputError>(HasSubstr("column y: got -1e400, which is beyond")));
}

TEST_F(TableFileTest, ANumberBeyondFloatingPointInALaterBlockNamesItsRow) {
  std::string text = "y,x\n";
  for (int i = 0; i < 400'000; ++i) text += "1," + std::to_string(i % 1'000) + '\n';
  text.replace(text.find("\n1,7\n"), 5, "\n1,inf\n");
  const test::Read all =
      test::read(TableFile(test::write_text(path("a.csv"), text + "1,1e39\n")), "x", 1'000);
  EXPECT_THAT(all.lost, ElementsAre(HasSubstr("row 400000: column x: got 1e39")));
  ASSERT_GE(all.numbers.size(), 100'000U);
  EXPECT_EQ(all.numbers[7], kInfinity);
}

TEST_F(TableFileTest, AColumnThatIsCalledAsAFieldIsTheOne) {
  const auto jet = arrow::StructArray::Make({test::floats({1, 2}), test::floats({3, 4})},
                                            std::vector<std::string>{"pt", "eta"})
                       .ValueOrDie();
  for (const char* name : {"a.parquet", "a.arrow"}) {
    const TableFile file(
        test::write(path(name), {{"jet", jet}, {"jet.pt", test::floats({5, 6})}}, 2));
    std::vector<std::string> all;
    for (const FileColumn& column : file.columns()) all.push_back(column.name);
    EXPECT_THAT(all, ElementsAre("jet", "jet.eta", "jet.pt")) << name;
    EXPECT_THAT(test::read(file, "jet.pt").numbers, ElementsAre(5, 6)) << name;
    EXPECT_THAT(test::read(file, "jet.eta").numbers, ElementsAre(3, 4)) << name;
  }
}

TEST_F(TableFileTest, FieldsOfStructsAndOfListsOfStructsAreColumns) {
  // Of what a null struct has nothing is seen.
  const auto pt = test::floats({1, 2, 3, 4});
  const auto validity = arrow::AllocateEmptyBitmap(4).ValueOrDie();
  validity->mutable_data()[0] = 0b1011;
  const std::vector<std::string> names{"pt", "eta"};
  const arrow::FieldVector fields{arrow::field("pt", arrow::float32()),
                                  arrow::field("eta", arrow::float32())};
  const auto jet = std::make_shared<arrow::StructArray>(
      arrow::struct_(fields), 4, arrow::ArrayVector{pt, test::floats({5, 6, 7, 8})}, validity);
  const auto event =
      arrow::StructArray::Make({test::counted(4), jet}, std::vector<std::string>{"n", "jet"})
          .ValueOrDie();
  const auto offsets = test::array<arrow::Int32Builder>(std::vector<std::int32_t>{0, 1, 1, 3, 4});
  const auto records = arrow::ListArray::FromArrays(*offsets, *jet).ValueOrDie();
  for (const char* name : {"a.parquet", "a.arrow", "a.ipc"}) {
    const TableFile file(
        test::write(path(name), {{"event", event}, {"", records}, {"other", pt}}, 4));
    std::vector<std::string> all;
    for (const FileColumn& column : file.columns()) all.push_back(column.name);
    EXPECT_THAT(all, ElementsAre("event", "event.n", "event.jet", "event.jet.pt", "event.jet.eta",
                                 "pt", "eta", "other"))
        << name;
    EXPECT_TRUE(file.columns()[5].is_list);
    EXPECT_EQ(file.columns()[5].numbers, NumberType::kF32);
    const TableChunk chunk = test::only_chunk(file, {"eta", "event.jet.pt", "event.n"});
    NumberMemory memory;
    const NumberRules rules{.null_value = 0};
    const auto* numbers =
        reinterpret_cast<const float*>(chunk.numbers(1, DType::kF32, rules, memory));
    EXPECT_THAT(std::vector(numbers, numbers + 4), ElementsAre(1, 2, 0, 4)) << name;
    numbers = reinterpret_cast<const float*>(chunk.numbers(2, DType::kF32, {}, memory));
    EXPECT_THAT(std::vector(numbers, numbers + 4), ElementsAre(0, 1, 2, 3)) << name;
    const ListNumbers lists = chunk.slice(1, 3).lists(0, DType::kF32, rules, memory);
    EXPECT_THAT(lists.offsets, ElementsAre(0, 0, 2, 3)) << name;
    numbers = reinterpret_cast<const float*>(lists.numbers);
    EXPECT_THAT(std::vector(numbers, numbers + 3), ElementsAre(6, 0, 8)) << name;
    EXPECT_EQ(file.empty_chunk({.columns = {"pt", "event"}}).columns(), 2U);
    EXPECT_THAT([&] { file.read({.columns = {"jet"}}); },
                ThrowsMessage<InputError>(HasSubstr("the nearest is event.jet")));
  }
}

TEST_F(TableFileTest, TextHasCommasSemicolonsOrTabs) {
  for (const char delimiter : {',', ';', '\t'}) {
    const std::string text =
        std::string("y") + delimiter + "x\n\"a,b;c\"" + delimiter + "1\nd" + delimiter + "2\n";
    const TableFile file(test::write_text(path("a.csv"), text));
    EXPECT_THAT(test::read(file, "x").numbers, ElementsAre(1, 2)) << delimiter;
  }
}

TEST_F(TableFileTest, FoldersAreTheirFilesByName) {
  test::write_text(path("b.csv"), "x\n1\n");
  test::write_text(path("a.csv"), "x\n1\n");
  test::write_text(path("notes.txt"), "x\n1\n");
  EXPECT_THAT(find_tables({temporary_.path().string()}), ElementsAre(path("a.csv"), path("b.csv")));
  fs::create_directory(path("empty"));
  EXPECT_THAT([&] { find_tables({path("empty").string()}); },
              ThrowsMessage<InputError>(HasSubstr("the folder has no")));
  EXPECT_THROW(find_tables({path("none").string()}), InputError);
  EXPECT_THROW(find_tables({}), InputError);
}

}  // namespace
}  // namespace tensoa::columnar
