// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/columnar/table_writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <sstream>
#include <thread>
#include <vector>

#include "../support/temporary_folder.hpp"
#include "tables.hpp"

namespace tensoa::columnar {
namespace {

namespace fs = std::filesystem;

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

template <class T, std::size_t N>
const std::byte* bytes_of(const std::array<T, N>& values) {
  return reinterpret_cast<const std::byte*>(values.data());
}

class TableWriterTest : public testing::Test {
 protected:
  TableWriterTest()
      : input_(test::write(temporary_.path() / "in.arrow", {{"id", test::counted(3)}}, 10)),
        all_(test::only_chunk(input_, {"id"})),
        none_(input_.empty_chunk({.columns = {}})) {}

  fs::path path(const std::string& name) const { return temporary_.path() / name; }
  std::size_t files() const {
    const fs::directory_iterator all(temporary_.path());
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  static std::string text(const fs::path& path) {
    std::stringstream contents;
    contents << std::ifstream(path).rdbuf();
    return contents.str();
  }

  tensoa::test::TemporaryFolder temporary_;
  TableFile input_;
  TableChunk all_;
  TableChunk none_;
};

TEST_F(TableWriterTest, WhatIsWrittenIsReadAgain) {
  constexpr std::array<float, 3> kScores{0.5F, 0.25F, 1};
  for (const char* name : {"out.parquet", "out.arrow", "out.csv"}) {
    TableWriter writer(path(name), {{.name = "score"}}, input_.empty_chunk({.columns = {"id"}}));
    writer.append(3, {{bytes_of(kScores)}}, all_);
    writer.append(2, {{bytes_of(kScores)}}, all_.slice(1, 2));
    EXPECT_FALSE(fs::exists(path(name)));
    writer.finish();
    EXPECT_THAT(test::read(TableFile(path(name)), "score").numbers,
                ElementsAre(0.5, 0.25, 1, 0.5, 0.25))
        << name;
    EXPECT_THAT(test::read(TableFile(path(name)), "id").numbers, ElementsAre(0, 1, 2, 1, 2))
        << name;
  }
}

TEST_F(TableWriterTest, EveryDtypeIsWritten) {
  constexpr std::array<std::uint8_t, 2> kTruths{1, 0};
  constexpr std::array<std::uint16_t, 2> kHalves{0x3C00, 0xC000};
  constexpr std::array<std::uint16_t, 2> kBrain{0x3F80, 0xC000};
  constexpr std::array<std::int64_t, 2> kLongs{1LL << 60, -1};
  TableWriter writer(path("out.csv"),
                     {{.name = "b", .dtype = DType::kBool},
                      {.name = "h", .dtype = DType::kF16},
                      {.name = "t", .dtype = DType::kBF16},
                      {.name = "n", .dtype = DType::kI64}},
                     none_);
  writer.append(
      2, {{bytes_of(kTruths)}, {bytes_of(kHalves)}, {bytes_of(kBrain)}, {bytes_of(kLongs)}}, none_);
  writer.finish();
  EXPECT_EQ(text(path("out.csv")),
            "\"b\",\"h\",\"t\",\"n\"\ntrue,1,1,1152921504606846976\nfalse,-2,-2,-1\n");
}

TEST_F(TableWriterTest, ListsAreWrittenByTheirOffsets) {
  constexpr std::array<float, 3> kNumbers{1, 2, 3};
  for (const char* name : {"out.parquet", "out.arrow"}) {
    TableWriter writer(path(name), {{.name = "x", .cells = Cells::kLists}}, none_);
    writer.append(3, {{bytes_of(kNumbers), {0, 1, 1, 3}}}, none_);
    writer.finish();
    const TableChunk chunk = test::only_chunk(TableFile(path(name)), {"x"});
    NumberMemory memory;
    const ListNumbers lists = chunk.lists(0, DType::kF32, {}, memory);
    EXPECT_THAT(lists.offsets, ElementsAre(0, 1, 1, 3));
    EXPECT_EQ(reinterpret_cast<const float*>(lists.numbers)[2], 3.0F);
  }
}

TEST_F(TableWriterTest, TextsAreWrittenByTheirOffsets) {
  constexpr std::array<char, 4> kLetters{'a', 'b', ',', 'c'};
  constexpr std::array<float, 3> kNumbers{1, 2, 3};
  for (const char* name : {"out.parquet", "out.arrow", "out.csv"}) {
    TableWriter writer(path(name), {{.name = "event", .cells = Cells::kTexts}, {.name = "x"}});
    writer.append(3, {{bytes_of(kLetters), {0, 2, 2, 4}}, {bytes_of(kNumbers)}});
    writer.finish();
    const TableFile file(path(name));
    EXPECT_EQ(file.columns().front().type, "string") << name;
    EXPECT_THAT(test::read(file, "x").numbers, ElementsAre(1, 2, 3)) << name;
  }
  EXPECT_EQ(text(path("out.csv")), "\"event\",\"x\"\n\"ab\",1\n\"\",2\n\",c\",3\n");
}

TEST_F(TableWriterTest, RowsThatAreWrittenGetNumbersLater) {
  constexpr std::array<float, 3> kScores{0.5F, 0.25F, 1};
  constexpr std::array<std::int64_t, 2> kNumbers{7, 9};
  for (const char* name : {"out.parquet", "out.arrow", "out.csv"}) {
    TableWriter writer(path(name), {{.name = "score"}}, input_.empty_chunk({.columns = {"id"}}));
    writer.append(3, {{bytes_of(kScores)}}, all_);
    writer.append(1, {{bytes_of(kScores)}}, all_.slice(2, 1));
    writer.number_rows("row");
    writer.append(2, {{bytes_of(kNumbers)}, {bytes_of(kScores)}}, all_.slice(0, 2));
    writer.finish();
    const TableFile file(path(name));
    EXPECT_EQ(file.columns().front().name, "row") << name;
    EXPECT_THAT(test::read(file, "row").numbers, ElementsAre(0, 1, 2, 3, 7, 9)) << name;
    EXPECT_THAT(test::read(file, "score").numbers, ElementsAre(0.5, 0.25, 1, 0.5, 0.5, 0.25));
    EXPECT_THAT(test::read(file, "id").numbers, ElementsAre(0, 1, 2, 2, 0, 1)) << name;
  }
  EXPECT_EQ(files(), 4U);
  TableWriter writer(path("out.csv"), {{.name = "row"}}, none_);
  EXPECT_THAT([&] { writer.number_rows("row"); },
              ThrowsMessage<ConfigError>(HasSubstr("two columns called row")));
  if (!fs::exists("/dev/null")) return;
  fs::create_symlink("/dev/null", path("null.csv"));
  TableWriter in_place(path("null.csv"), {{.name = "a"}}, none_);
  EXPECT_THAT([&] { in_place.number_rows("row"); },
              ThrowsMessage<ConfigError>(HasSubstr("written in place")));
}

TEST_F(TableWriterTest, RowsThatThreadsEncodeLieInTheFileInTheOrderOfTheirAppending) {
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kRows = 5'000;
  const TableFile input(test::write(path("many.arrow"), {{"id", test::counted(kRows)}}, kRows));
  const TableChunk ids = test::only_chunk(input, {"id"});
  TableWriter writer(path("out.parquet"), {{.name = "score"}, {.name = "n", .dtype = DType::kI64}},
                     input.empty_chunk({.columns = {"id"}}));
  const RowEncoder encoder = writer.encoder().value();
  std::vector<std::optional<EncodedRows>> encoded(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::vector<float> scores(kRows);
      std::vector<std::int64_t> numbers(kRows);
      for (std::size_t i = 0; i < kRows; ++i) {
        scores[i] = static_cast<float>(thread * kRows + i);
        numbers[i] = static_cast<std::int64_t>(thread * kRows + i);
      }
      EncodedRows& mine = encoded[thread].emplace(encoder.begin());
      for (std::size_t first = 0; first < kRows; first += 1'000) {
        mine.append(1'000,
                    {{reinterpret_cast<const std::byte*>(scores.data() + first)},
                     {reinterpret_cast<const std::byte*>(numbers.data() + first)}},
                    ids.slice(first, 1'000));
      }
      EXPECT_EQ(mine.rows(), kRows);
    });
  }
  for (std::thread& thread : threads) thread.join();
  constexpr std::array<float, 3> kScores{-1, -2, -3};
  constexpr std::array<std::int64_t, 3> kNumbers{-1, -2, -3};
  const auto append_few = [&] {
    writer.append(3, {{bytes_of(kScores)}, {bytes_of(kNumbers)}}, ids.slice(0, 3));
  };
  append_few();
  std::vector<float> expected{-1, -2, -3};
  for (const std::size_t thread : {2U, 0U, 3U, 1U}) {
    EXPECT_TRUE(writer.append(*std::move(encoded[thread])));
    for (std::size_t i = 0; i < kRows; ++i)
      expected.push_back(static_cast<float>(thread * kRows + i));
  }
  append_few();
  expected.insert(expected.end(), {-1, -2, -3});
  writer.finish();
  const TableFile file(path("out.parquet"));
  EXPECT_EQ(test::read(file, "score").numbers, expected);
  EXPECT_EQ(test::read(file, "n").numbers, expected);
  EXPECT_EQ(test::read(file, "id").numbers.size(), expected.size());
}

TEST_F(TableWriterTest, RowsThatWereEncodedWithoutNumbersAreRefusedOnceThereAreSome) {
  constexpr std::array<float, 3> kScores{0.5F, 0.25F, 1};
  constexpr std::array<std::int64_t, 3> kNumbers{3, 4, 5};
  TableWriter writer(path("out.parquet"), {{.name = "score"}}, none_);
  const RowEncoder encoder = writer.encoder().value();
  EncodedRows first = encoder.begin();
  EncodedRows second = encoder.begin();
  for (EncodedRows* rows : {&first, &second}) rows->append(3, {{bytes_of(kScores)}}, none_);
  EXPECT_TRUE(writer.append(std::move(first)));
  writer.number_rows("row");
  EXPECT_FALSE(writer.append(std::move(second)));
  EncodedRows late = encoder.begin();
  late.append(3, {{bytes_of(kScores)}}, none_);
  EXPECT_FALSE(writer.append(std::move(late)));
  writer.append(3, {{bytes_of(kNumbers)}, {bytes_of(kScores)}}, none_);
  writer.finish();
  EXPECT_THAT(test::read(TableFile(path("out.parquet")), "row").numbers,
              ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_FALSE(TableWriter(path("out.arrow"), {{.name = "score"}}, none_).encoder());
  EXPECT_FALSE(TableWriter(path("out.csv"), {{.name = "score"}}, none_).encoder());
}

TEST_F(TableWriterTest, WrongFilesAreRefused) {
  const auto made = [&](const std::string& name, std::vector<WrittenColumn> columns) {
    return [=, this] { TableWriter(path(name), columns, none_); };
  };
  EXPECT_THAT(
      made("out.txt", {{.name = "a"}}),
      ThrowsMessage<ConfigError>(HasSubstr("expected a file named .parquet, .arrow or .csv")));
  EXPECT_THAT(made("out.csv", {{.name = "a", .cells = Cells::kLists}}),
              ThrowsMessage<ConfigError>(HasSubstr("which CSV has not")));
  EXPECT_THAT(made("out.csv", {{.name = "a"}, {.name = "a"}}),
              ThrowsMessage<ConfigError>(HasSubstr("two columns called a")));
  EXPECT_THROW(made("none/out.csv", {{.name = "a"}})(), OutputError);
  EXPECT_EQ(files(), 1U);
}

TEST_F(TableWriterTest, ACopiedColumnOfAnotherTypeIsAnError) {
  arrow::StringBuilder builder;
  ASSERT_TRUE(builder.AppendValues(std::vector<std::string>{"a", "b", "c"}).ok());
  const auto names = builder.Finish().ValueOrDie();
  const TableFile other(test::write(path("other.arrow"), {{"id", names}}, 10));
  TableWriter writer(path("out.parquet"), {}, input_.empty_chunk({.columns = {"id"}}));
  EXPECT_THAT([&] { writer.append(3, {}, test::only_chunk(other, {"id"})); },
              ThrowsMessage<InputError>(AllOf(HasSubstr("other.arrow: the column id is string"),
                                              HasSubstr("it is float"))));
}

TEST_F(TableWriterTest, WhatIsNotFinishedIsRemoved) {
  constexpr std::array<float, 3> kScores{0.5F, 0.25F, 1};
  {
    TableWriter writer(path("out.parquet"), {{.name = "score"}}, none_);
    writer.append(3, {{bytes_of(kScores)}}, none_);
  }
  EXPECT_EQ(files(), 1U);
}

TEST_F(TableWriterTest, AFullDiskIsAnError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  constexpr std::array<float, 3> kScores{0.5F, 0.25F, 1};
  for (const char* name : {"full.parquet", "full.arrow", "full.csv"}) {
    fs::create_symlink("/dev/full", path(name));
    const auto write = [&] {
      TableWriter writer(path(name), {{.name = "score"}}, none_);
      writer.append(3, {{bytes_of(kScores)}}, none_);
      writer.finish();
    };
    EXPECT_THAT(write, ThrowsMessage<OutputError>(HasSubstr("No space left"))) << name;
  }
}

}  // namespace
}  // namespace tensoa::columnar
