// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "event_table.hpp"

#include <arrow/util/compression.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "../support/temporary_folder.hpp"
#include "columnar/tables.hpp"
#include "event_files.hpp"

namespace tensoa::events {
namespace {

namespace tables = columnar::test;

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

std::shared_ptr<arrow::Array> whole(std::vector<std::int64_t> values) {
  return tables::array<arrow::Int64Builder>(std::move(values));
}

/// The numbers 0, 1, … in lists of these sizes.
std::shared_ptr<arrow::Array> lists(const std::vector<std::int32_t>& sizes) {
  std::vector<std::int32_t> offsets{0};
  std::partial_sum(sizes.begin(), sizes.end(), std::back_inserter(offsets));
  const auto elements = tables::counted(static_cast<std::size_t>(offsets.back()));
  return arrow::ListArray::FromArrays(*tables::array<arrow::Int32Builder>(offsets), *elements)
      .ValueOrDie();
}

class EventTables : public testing::Test {
 protected:
  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }

  EventTable table(const std::string& name, const tables::Columns& columns,
                   std::int64_t rows = 100) const {
    return open(tables::write(path(name), columns, rows));
  }

  static EventTable open(const std::filesystem::path& file) {
    return EventTable(file, without_endings(file),
                      {.required = {"x", "y"}, .optional = {"n"}, .row = "dot"});
  }

  static std::vector<float> x_of(const EventTable& table, std::size_t event) {
    EventTable::Rows rows = table.read(event);
    std::vector<float> x(rows.count());
    rows.copy("x", x.data());
    return x;
  }

  test::TemporaryFolder folder_;
};

TEST_F(EventTables, ColumnsThatAreOptionalAreThereOrNot) {
  const auto x = tables::counted(2);
  EXPECT_FALSE(table("a.parquet", {{"x", x}, {"y", x}, {"other", x}}).has("n"));
  const EventTable with = table("b.parquet", {{"n", whole({7, 8})}, {"y", x}, {"x", x}});
  EXPECT_TRUE(with.has("n"));
  EventTable::Rows rows = with.read(0);
  std::vector<std::int32_t> n(rows.count());
  rows.copy("n", n.data());
  EXPECT_THAT(n, ElementsAre(7, 8));
}

TEST_F(EventTables, NumbersAreRoundedToFloatsAndToNothingElse) {
  const auto doubles = tables::array<arrow::DoubleBuilder>(std::vector<double>{0.1, 0.5});
  const EventTable found =
      table("a.parquet", {{"x", doubles}, {"y", tables::counted(2)}, {"n", doubles}});
  EXPECT_THAT(x_of(found, 0), ElementsAre(0.1F, 0.5F));
  EventTable::Rows rows = found.read(0);
  std::vector<std::int64_t> n(2);
  EXPECT_THAT([&] { rows.copy("n", n.data()); },
              ThrowsMessage<InputError>(HasSubstr("row 0: column n is 0.1, which is not a whole")));
}

TEST_F(EventTables, AColumnOfEventNumbersThatAreNoneIsAnError) {
  const auto x = tables::counted(2);
  EXPECT_THAT(
      [&] {
        table("a.parquet", {{"x", x}, {"y", x}, {"event_id", lists({1, 1})}});
      },
      ThrowsMessage<InputError>(
          AllOf(HasSubstr("a.parquet: column event_id is list<"), HasSubstr("expected integers"))));
  EXPECT_THAT(
      [&] {
        table("a.parquet", {{"x", lists({1, 1})}, {"y", x}});
      },
      ThrowsMessage<InputError>(
          HasSubstr("column y is float, expected lists of numbers, as x and y are")));
}

TEST_F(EventTables, ANullInListsIsAnErrorOfItsEventAlone) {
  const auto validity = arrow::AllocateEmptyBitmap(3).ValueOrDie();
  validity->mutable_data()[0] = 0b101;
  const auto whole_lists = lists({1, 2, 1});
  const auto data = whole_lists->data()->Copy();
  data->buffers[0] = validity;
  data->null_count = 1;
  const EventTable found = table("a.arrow", {{"x", arrow::MakeArray(data)}, {"y", whole_lists}});
  ASSERT_EQ(found.events(), 3U);
  EXPECT_THAT(x_of(found, 0), ElementsAre(0));
  EXPECT_THAT(x_of(found, 2), ElementsAre(3));
  EXPECT_THAT([&] { x_of(found, 1); },
              ThrowsMessage<InputError>(HasSubstr("a.arrow: row 1: column x is null")));
}

/// Batches of 10 rows, each of some packed buffers, of which the second batch has its first overwritten.
std::filesystem::path damaged(const std::filesystem::path& path, const tables::Columns& columns,
                              int buffers) {
  const auto all = tables::table(columns);
  {
    const auto stream = arrow::io::FileOutputStream::Open(path.string()).ValueOrDie();
    auto options = arrow::ipc::IpcWriteOptions::Defaults();
    options.codec = arrow::util::Codec::Create(arrow::Compression::ZSTD).ValueOrDie();
    const auto writer = arrow::ipc::MakeFileWriter(stream, all->schema(), options).ValueOrDie();
    EXPECT_TRUE(writer->WriteTable(*all, 10).ok() && writer->Close().ok() && stream->Close().ok());
  }
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const std::string packed = "\x28\xB5\x2F\xFD";
  std::size_t at = 0;
  for (int buffer = 0; buffer <= buffers; ++buffer) at = bytes.find(packed, at + 1);
  file.clear();
  file.seekp(static_cast<std::streamoff>(at));
  file << "\xFF\xFF\xFF\xFF";
  return path;
}

TEST_F(EventTables, EventsAfterADamagedBatchHaveTheirOwnRows) {
  std::vector<std::int64_t> ids(40);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i / 5);
  const auto x = tables::counted(40);
  const EventTable found =
      open(damaged(path("a.arrow"), {{"x", x}, {"y", x}, {"event_id", whole(ids)}}, 3));
  std::vector<std::string> read;
  for (std::size_t event = 0; event < found.events(); ++event) {
    try {
      const auto first = static_cast<int>(x_of(found, event).front());
      read.push_back(found.name(event) + ' ' + std::to_string(first));
      EXPECT_THAT(found.origin(event), HasSubstr("rows " + std::to_string(first) + " to "));
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr("a.arrow: record batch 1 is damaged or truncated"));
      read.push_back(found.name(event));
    }
  }
  // Events next to the lost rows may have some there.
  EXPECT_THAT(
      read, ElementsAre("a_0 0", "a_1", "a_lost-from-row-10", "a_4", "a_5 25", "a_6 30", "a_7 35"));
}

TEST_F(EventTables, RowsOfListsAfterADamagedBatchKeepTheirNumbers) {
  const auto x = lists(std::vector<std::int32_t>(30, 1));
  const EventTable found = open(damaged(path("a.arrow"), {{"x", x}, {"y", x}}, 4));
  ASSERT_EQ(found.events(), 21U);
  EXPECT_EQ(found.name(10), "a_lost-from-row-10");
  EXPECT_EQ(found.name(11), "a_20");
  EXPECT_THAT(x_of(found, 11), ElementsAre(20));
}

TEST_F(EventTables, AFileThatBecomesShorterIsAnError) {
  std::vector<std::int64_t> ids(1'000);
  std::iota(ids.begin(), ids.end(), 0);
  const auto x = tables::counted(1'000);
  const tables::Columns columns{{"x", x}, {"y", x}, {"event_id", whole(ids)}};
  const EventTable found = table("a.ipc", columns, 10);
  EXPECT_THAT(x_of(found, 999), ElementsAre(999));
  tables::Columns shorter = columns;
  for (auto& column : shorter) column.second = column.second->Slice(0, 500);
  tables::write(path("a.ipc"), shorter, 10);
  EXPECT_THAT(x_of(found, 5), ElementsAre(5));
  EXPECT_THAT([&] { x_of(found, 700); },
              ThrowsMessage<InputError>(HasSubstr("a.ipc: ends before part 70")));
}

TEST(EventFiles, NamesAreThoseOfFilesWithoutEndings) {
  for (const char* file :
       {"b/evt.csv", "evt.csv.gz", "evt.parquet", "/a/evt.arrow", "evt.ipc", "evt.feather"}) {
    EXPECT_EQ(without_endings(file), "evt") << file;
  }
  EXPECT_EQ(without_endings("a.b.parquet"), "a.b");
  EXPECT_EQ(without_endings("evt.parquet.gz"), "evt.parquet");
  EXPECT_EQ(without_endings("evt.txt"), "evt.txt");
  EXPECT_TRUE(is_table("a/b.feather"));
  EXPECT_FALSE(is_table("b.parquet.gz"));
}

}  // namespace
}  // namespace tensoa::events
