// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/events/table_columns.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "../support/temporary_folder.hpp"
#include "tensoa/columnar/collection.hpp"

namespace tensoa::events {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

template <template <class> class F>
struct Row {
  F<float> x;
  F<std::int64_t> id;
  F<std::uint8_t> truth;
};

template <template <class> class F>
struct Id {
  F<std::int64_t> id;
};

PortableCollection<Row> rows_of(std::size_t n) {
  PortableCollection<Row> rows(n, Device::cpu());
  for (std::size_t i = 0; i < n; ++i) {
    rows.view().x[i] = 0.5F * static_cast<float>(i);
    rows.view().id[i] = static_cast<std::int64_t>(i) - 1;
    rows.view().truth[i] = i % 2;
  }
  return rows;
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(TableColumns, AreThoseOfALayoutInItsOrderWithoutSome) {
  const auto rows = rows_of(2);
  const TableColumns all = TableColumns::of(rows.const_view());
  ASSERT_EQ(all.columns.size(), 3U);
  EXPECT_EQ(all.columns[1].name, "id");
  EXPECT_EQ(all.columns[1].dtype, DType::kI64);
  TableColumns some = TableColumns::of(rows.const_view(), {"id", "none"});
  ASSERT_EQ(some.columns.size(), 2U);
  const std::vector<float> more{7, 8};
  TableColumns other{2};
  other.add("more", more.data());
  some += other;
  const test::TemporaryFolder folder;
  some.write(folder.path() / "a.csv");
  EXPECT_EQ(text_of(folder.path() / "a.csv"), "\"x\",\"truth\",\"more\"\n0,0,7\n0.5,1,8\n");
}

TEST(AnswerWriter, RowsStandBehindTheNameOfTheirEvent) {
  const test::TemporaryFolder folder;
  for (const char* name : {"a.csv", "a.parquet"}) {
    AnswerWriter writer(folder.path() / name, TableColumns::of(rows_of(0).const_view()));
    for (const auto& [event, n] :
         {std::pair("one", 2U), std::pair("none", 0U), std::pair("", 1U)}) {
      const auto rows = rows_of(n);
      writer.append(event, TableColumns::of(rows.const_view()));
    }
    writer.finish();
    const auto read = columnar::read_collection<Id>(folder.path() / name);
    const auto ids = read.const_view().id;
    EXPECT_THAT(std::vector(ids.data(), ids.data() + read.size()), ElementsAre(-1, 0, -1)) << name;
  }
  EXPECT_EQ(text_of(folder.path() / "a.csv"),
            "\"event\",\"x\",\"id\",\"truth\"\n\"one\",0,-1,0\n\"one\",0.5,0,1\n\"\",0,-1,0\n");
}

TEST(AnswerWriter, AFileThatIsNotFinishedIsRemoved) {
  const test::TemporaryFolder folder;
  {
    const auto rows = rows_of(2);
    AnswerWriter writer(folder.path() / "a.csv", TableColumns::of(rows.const_view()));
    writer.append("one", TableColumns::of(rows.const_view()));
  }
  EXPECT_EQ(folder.files(), 0U);
}

TEST(AnswerWriter, OtherEndingsAreRefused) {
  for (const char* name : {"a.arrow", "a", "a.csv.gz"}) {
    EXPECT_THAT([&] { AnswerWriter(name, TableColumns{}); },
                ThrowsMessage<ConfigError>(HasSubstr("expected a file named .csv or .parquet")));
  }
}

}  // namespace
}  // namespace tensoa::events
