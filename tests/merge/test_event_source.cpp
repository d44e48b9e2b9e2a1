// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/merge/event_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "../support/temporary_folder.hpp"
#include "columnar/tables.hpp"
#include "columns.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/merge/generator.hpp"

namespace tensoa::merge {
namespace {

namespace tables = columnar::test;

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::shared_ptr<arrow::Array> whole(std::vector<std::int64_t> values) {
  return tables::array<arrow::Int64Builder>(std::move(values));
}

/// Three clusters of two fragments, with the columns that each file must have.
tables::Columns clusters() {
  return {{"fragment_id", whole({4, 2, 4})},        {"layer", whole({1, 2, 3})},
          {"energy", tables::floats({10, 20, 30})}, {"z", tables::floats({3300, 3310, 3320})},
          {"y", tables::floats({-1, -2, -3})},      {"x", tables::floats({100, 200, 300})}};
}

tables::Columns with(std::string name, std::shared_ptr<arrow::Array> values) {
  tables::Columns columns = clusters();
  std::erase_if(columns, [&](const auto& column) { return column.first == name; });
  columns.emplace_back(std::move(name), std::move(values));
  return columns;
}

class EventSources : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  std::vector<EventSource> events_of(const std::string& name, const tables::Columns& columns) {
    return find({tables::write(path(name), columns, 100).string()});
  }

  static std::vector<EventSource> find(const std::vector<std::string>& inputs) {
    return find_events(inputs);
  }

  static std::vector<std::string> names_of(const std::vector<EventSource>& sources) {
    std::vector<std::string> names;
    for (const EventSource& source : sources) names.push_back(source.name());
    return names;
  }

  /// The file is an event whose reading fails with a message that has its name and `what`.
  void expect_refused(const tables::Columns& columns, const std::string& what) {
    const auto sources = events_of("a.parquet", columns);
    ASSERT_EQ(sources.size(), 1U);
    EXPECT_THAT([&] { sources[0].read(); },
                ThrowsMessage<InputError>(AllOf(HasSubstr(what), HasSubstr("a"))));
  }

  test::TemporaryFolder folder_;
};

TEST_F(EventSources, ColumnsInAnyOrderBecomeClustersByFragment) {
  for (const char* name : {"evt.parquet", "evt.arrow", "evt.ipc", "evt.feather"}) {
    const auto sources = events_of(name, clusters());
    ASSERT_THAT(names_of(sources), ElementsAre("evt")) << name;
    const Event event = sources[0].read();
    EXPECT_EQ(event.name, "evt");
    const auto to = event.clusters.const_view();
    EXPECT_THAT(list(to.fragment_id, 3), ElementsAre(2, 4, 4));
    EXPECT_THAT(list(to.x, 3), ElementsAre(200, 100, 300));
    EXPECT_THAT(list(to.y, 3), ElementsAre(-2, -1, -3));
    EXPECT_THAT(list(to.z, 3), ElementsAre(3310, 3300, 3320));
    EXPECT_THAT(list(to.energy, 3), ElementsAre(20, 10, 30));
    EXPECT_THAT(list(to.layer, 3), ElementsAre(2, 1, 3));
    EXPECT_EQ(event.fragments.size(), 2U);
  }
}

TEST_F(EventSources, ColumnsThatAFileLacksHaveValuesThatSaySo) {
  const Event event = events_of("a.parquet", clusters()).at(0).read();
  EXPECT_FALSE(event.has_truth);
  EXPECT_THAT(list(event.clusters.const_view().time, 3), Each(kNoTime));
  EXPECT_THAT(list(event.clusters.const_view().cells, 3), Each(1));
  EXPECT_THAT(list(event.clusters.const_view().particle_id, 3), Each(0));
}

TEST_F(EventSources, ColumnsThatAFileMayHaveAreRead) {
  tables::Columns columns = clusters();
  columns.emplace_back("particle_id", whole({7, 8, 9}));
  columns.emplace_back("cells",
                       tables::array<arrow::UInt8Builder>(std::vector<std::uint8_t>{1, 2, 3}));
  columns.emplace_back("time",
                       tables::array<arrow::DoubleBuilder>(std::vector<double>{0.5, 1.5, 2.5}));
  const Event event = events_of("a.parquet", columns).at(0).read();
  EXPECT_TRUE(event.has_truth);
  EXPECT_THAT(list(event.clusters.const_view().time, 3), ElementsAre(1.5, 0.5, 2.5));
  EXPECT_THAT(list(event.clusters.const_view().cells, 3), ElementsAre(2, 1, 3));
  EXPECT_THAT(list(event.clusters.const_view().particle_id, 3), ElementsAre(8, 7, 9));
  EXPECT_THAT(list(event.fragments.const_view().particle_id, 2), ElementsAre(8, 9));
}

TEST_F(EventSources, NeighboursWithOneNumberAreAnEvent) {
  tables::Columns columns = clusters();
  columns.emplace_back("event_id", whole({5, 5, 3}));
  const auto sources = events_of("a.parquet", columns);
  ASSERT_THAT(names_of(sources), ElementsAre("a_5", "a_3"));
  EXPECT_EQ(sources[0].read().clusters.size(), 2U);
  const Event last = sources[1].read();
  ASSERT_EQ(last.clusters.size(), 1U);
  EXPECT_EQ(last.clusters.const_view().energy[0], 30);
}

TEST_F(EventSources, AFileWithoutRowsHasNoEvents) {
  tables::Columns columns = clusters();
  for (auto& column : columns) column.second = column.second->Slice(0, 0);
  EXPECT_TRUE(events_of("a.parquet", columns).empty());
}

TEST_F(EventSources, WhatAreNoClustersIsNamed) {
  tables::Columns columns = clusters();
  columns.pop_back();
  expect_refused(columns,
                 "a.parquet: wrong columns: got fragment_id, layer, energy, z, y; expected x");
  expect_refused(with("layer", tables::floats({1, 2.5, 3})), "row 1: column layer is 2.5");
  expect_refused(with("layer", whole({1, 2, std::int64_t{1} << 32})),
                 "row 2: column layer is 4294967296, which int32 does not hold");
  expect_refused(with("x", tables::floats({1, 2, 3}, {true, true, false})),
                 "row 2: column x is null");
  expect_refused(with("x", tables::array<arrow::DoubleBuilder>(std::vector<double>{1, 1e39, 3})),
                 "row 1: column x is 1e+39, which float32 does not hold");
  expect_refused(with("energy", tables::floats({1, -2, 3})),
                 "event a: cluster 1: got energy = -2, expected 0 to 1e+06 GeV");
}

TEST_F(EventSources, WhatIsNotAFileOfClustersFailsWhenItIsRead) {
  folder_.write("a.csv", "x,y\n");
  folder_.write("b.parquet", "PAR1");
  const auto sources = find({path("a.csv"), path("b.parquet"), path("none.parquet")});
  ASSERT_THAT(names_of(sources), ElementsAre("a", "b", "none"));
  const char* const expected[] = {
      "a.csv: is not a file of clusters, expected .parquet or .arrow",
      "b.parquet: is not a Parquet file, or is damaged or truncated",
      "none.parquet: no such file or folder, expected a file, a folder"};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_THAT([&] { sources[i].read(); }, ThrowsMessage<InputError>(HasSubstr(expected[i])));
    EXPECT_EQ(sources[i].origin(), sources[i].file()->string());
  }
}

TEST_F(EventSources, AFolderIsItsTablesInNaturalOrder) {
  for (const char* name : {"evt_10.parquet", "evt_2.arrow", "evt_1.feather"}) {
    tables::write(path(name), clusters(), 100);
  }
  folder_.write("notes.csv", "x\n");
  std::filesystem::create_directory(folder_.path() / "more.parquet");
  EXPECT_THAT(names_of(find({folder_.path().string()})), ElementsAre("evt_1", "evt_2", "evt_10"));
  EXPECT_THAT([&] { find({path("more.parquet")}); },
              ThrowsMessage<InputError>(HasSubstr("expected files *.parquet or *.arrow")));
}

TEST_F(EventSources, GeneratedEventsAreThoseOfTheGenerator) {
  const auto sources = find({"generate:2:7:3:1"});
  ASSERT_THAT(names_of(sources), ElementsAre("showers-7-0", "showers-7-1"));
  EXPECT_EQ(sources[1].origin(), "generate:…:7:3:1");
  EXPECT_EQ(sources[1].file(), nullptr);
  const Event event = sources[1].read();
  const Event expected = generate({.seed = 7, .particles = 3, .pile_up = 1}, 1);
  ASSERT_EQ(event.clusters.size(), expected.clusters.size());
  EXPECT_EQ(list(event.clusters.const_view().energy, event.clusters.size()),
            list(expected.clusters.const_view().energy, expected.clusters.size()));
  EXPECT_THAT(
      names_of(find({"generate:1:7:3", "generate:1:7:4"})),
      ElementsAre("3-particles_0-pile-up_showers-7-0", "4-particles_0-pile-up_showers-7-0"));
}

TEST_F(EventSources, WhatGeneratesNothingIsRefused) {
  for (const char* input : {"generate:", "generate:0", "generate:x", "generate:-1", "generate:1:",
                            "generate:1:2:10001", "generate:1:2:3:1001", "generate:1:2:3:4:5",
                            "generate:1000001", "generate:1:18446744073709551616"}) {
    EXPECT_THAT([&] { find({input}); },
                ThrowsMessage<ConfigError>(AllOf(
                    HasSubstr(input), HasSubstr("generate:EVENTS[:SEED[:PARTICLES[:PILE_UP]]]"))));
  }
}

}  // namespace
}  // namespace tensoa::merge
