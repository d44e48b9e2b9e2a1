// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "columnar/tables.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/track/event_source.hpp"
#include "track/files.hpp"

namespace tensoa::track {
namespace {

namespace tables = columnar::test;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names_of(const std::vector<EventSource>& sources) {
  std::vector<std::string> names;
  for (const EventSource& source : sources) names.push_back(source.name());
  return names;
}

std::shared_ptr<arrow::Array> ids(std::vector<std::int64_t> values) {
  return tables::array<arrow::Int64Builder>(std::move(values));
}

/// Hits of events of the given sizes one after another, x counting over all of them, events from 7 on.
tables::Columns hits_of(const std::vector<std::size_t>& sizes) {
  std::vector<std::int64_t> events;
  std::vector<std::int64_t> hit_ids;
  for (std::size_t event = 0; event < sizes.size(); ++event) {
    for (std::size_t hit = 0; hit < sizes[event]; ++hit) {
      events.push_back(static_cast<std::int64_t>(event) + 7);
      hit_ids.push_back(100 + static_cast<std::int64_t>(hit));
    }
  }
  const auto x = tables::counted(events.size());
  return {{"hit_id", ids(hit_ids)}, {"x", x}, {"y", x}, {"z", x}, {"particle_id", ids(hit_ids)},
          {"event_id", ids(events)}};
}

std::shared_ptr<arrow::Array> lists(const std::vector<std::vector<double>>& rows) {
  const auto numbers = std::make_shared<arrow::DoubleBuilder>();
  arrow::ListBuilder builder(arrow::default_memory_pool(), numbers);
  for (const auto& row : rows) {
    EXPECT_TRUE(builder.Append().ok());
    EXPECT_TRUE(numbers->AppendValues(row).ok());
  }
  return builder.Finish().ValueOrDie();
}

std::vector<float> x_of(const Event& event) {
  const auto hits = event.hits.const_view();
  return {hits.x.data(), hits.x.data() + hits.size()};
}

std::vector<float> counted(std::size_t first, std::size_t n) {
  std::vector<float> numbers(n);
  std::iota(numbers.begin(), numbers.end(), static_cast<float>(first));
  return numbers;
}

/// Overwrites what a column of a row group begins with.
void damage(const std::filesystem::path& file, int row_group, const std::string& column) {
  const auto metadata = parquet::ParquetFileReader::OpenFile(file.string())->metadata();
  const int place = metadata->schema()->ColumnIndex(column);
  const auto chunk = metadata->RowGroup(row_group)->ColumnChunk(place);
  const std::int64_t first =
      chunk->has_dictionary_page() ? chunk->dictionary_page_offset() : chunk->data_page_offset();
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(first);
  stream << std::string(static_cast<std::size_t>(chunk->total_compressed_size()), '\xff');
}

class EventTableTest : public testing::Test {
 protected:
  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }

  /// The events of a table of hits in parts of `rows` rows.
  std::vector<EventSource> events_of(const std::string& name, const tables::Columns& columns,
                                     std::int64_t rows) const {
    return find_events(tables::write(path(name), columns, rows).string());
  }

  std::string message_of_read(const tables::Columns& columns) const {
    const auto sources = events_of("a.parquet", columns, 100);
    return message_of<InputError>([&] { sources.at(0).read(); });
  }

  TemporaryFolder folder_;
};

TEST_F(EventTableTest, NeighboursWithOneNumberAreAnEventInAnyOrderOfReading) {
  const std::vector<std::size_t> sizes{3, 6, 1, 2};
  for (const char* name : {"a.parquet", "a.arrow", "a.ipc"}) {
    for (const std::int64_t rows : {1, 4, 100}) {
      const auto sources = events_of(name, hits_of(sizes), rows);
      ASSERT_THAT(names_of(sources), ElementsAre("a_7", "a_8", "a_9", "a_10"));
      for (const std::size_t i : {0U, 1U, 2U, 3U, 2U, 0U, 3U, 3U}) {
        const Event event = sources[i].read();
        const auto first =
            std::accumulate(sizes.begin(), sizes.begin() + static_cast<int>(i), std::size_t{0});
        EXPECT_EQ(x_of(event), counted(first, sizes[i])) << name << ' ' << rows << ' ' << i;
        EXPECT_EQ(event.name, sources[i].name());
        EXPECT_TRUE(event.has_truth);
        EXPECT_FALSE(event.has_layers);
        const auto hits = event.hits.const_view();
        EXPECT_EQ(hits.hit_id[sizes[i] - 1], 99 + static_cast<std::int64_t>(sizes[i]));
        EXPECT_EQ(hits.particle_id[0], 100);
        EXPECT_EQ(hits.track_id[0], -1);
      }
    }
  }
}

TEST_F(EventTableTest, ARowOfListsIsAnEventOfAnyNumberType) {
  const tables::Columns columns{{"event_id", ids({5, 9, 6})},
                                {"x", lists({{1, 2}, {}, {3}})},
                                {"y", lists({{4, 5}, {}, {6}})},
                                {"z", lists({{7, 8}, {}, {9}})}};
  for (const char* name : {"a.parquet", "a.arrow", "a.ipc"}) {
    const auto sources = events_of(name, columns, 2);
    ASSERT_THAT(names_of(sources), ElementsAre("a_5", "a_9", "a_6"));
    EXPECT_EQ(sources[2].read().hits.const_view().z[0], 9.F);
    EXPECT_EQ(sources[1].read().hits.size(), 0U);
    const Event event = sources[0].read();
    EXPECT_THAT(x_of(event), ElementsAre(1.F, 2.F));
    EXPECT_EQ(event.hits.const_view().hit_id[1], 1);
    EXPECT_FALSE(event.has_truth);
  }
  const tables::Columns without_numbers(columns.begin() + 1, columns.end());
  EXPECT_THAT(names_of(events_of("b-hits.parquet", without_numbers, 2)),
              ElementsAre("b_0", "b_1", "b_2"));
}

TEST_F(EventTableTest, AFileWithoutNumbersOfEventsIsOne) {
  tables::Columns columns = hits_of({5});
  columns.pop_back();
  const auto file = tables::write(path("one.parquet"), columns, 2);
  const auto sources = find_events(file.string());
  ASSERT_THAT(names_of(sources), ElementsAre("one"));
  EXPECT_EQ(x_of(sources[0].read()), counted(0, 5));
  EXPECT_EQ(x_of(read_event(file)), counted(0, 5));
  EXPECT_THAT(message_of<InputError>([&] {
                read_event(tables::write(path("two.parquet"), hits_of({1, 1}), 9));
              }),
              HasSubstr("two.parquet: has 2 events, expected one"));
}

TEST_F(EventTableTest, LayersAreVolumeAndLayerOrOneColumn) {
  tables::Columns columns = hits_of({2});
  columns.emplace_back("volume_id", ids({7, 8}));
  columns.emplace_back("layer_id", ids({2, 4}));
  Event event = events_of("a.parquet", columns, 9).at(0).read();
  EXPECT_TRUE(event.has_layers);
  EXPECT_EQ(event.hits.const_view().layer[1], 8004);
  columns.emplace_back("layer", ids({1, 3}));
  event = events_of("b.parquet", columns, 9).at(0).read();
  EXPECT_EQ(event.hits.const_view().layer[1], 3);
}

TEST_F(EventTableTest, WhatIsNotHitsIsNamed) {
  const auto x = tables::counted(2);
  const auto event = ids({1, 1});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(message_of_read({{"x", x}, {"y", x}, {"t", x}}),
              AllOf(HasSubstr("a.parquet: wrong columns: got x, y, t"), HasSubstr("x, y, z")));
  EXPECT_THAT(message_of_read({{"x", x}, {"y", lists({{1}, {2}})}, {"z", x}}),
              HasSubstr("column y is list<element: double>, expected numbers, as x, y and z are"));
  arrow::StringBuilder of_names;
  ASSERT_TRUE(of_names.AppendValues({"a", "b"}).ok());
  const std::shared_ptr<arrow::Array> names = of_names.Finish().ValueOrDie();
  EXPECT_THAT(message_of_read({{"x", x}, {"y", x}, {"z", x}, {"event_id", names}}),
              HasSubstr("column event_id is string, expected integers"));
  EXPECT_THAT(
      message_of_read({{"x", x}, {"y", x}, {"z", x}, {"event_id", tables::floats({1, 2.5})}}),
      HasSubstr("row 1: column event_id is 2.5, which is not a whole number"));
  EXPECT_THAT(message_of_read({{"x", x}, {"y", x}, {"z", tables::floats({1, nan})}}),
              HasSubstr("a.parquet: event a: hit 1: got z = NaN, expected a finite number"));
  EXPECT_THAT(message_of_read({{"x", x}, {"y", x}, {"z", tables::floats({1, 2}, {true, false})}}),
              HasSubstr("row 1: column z is null"));
  EXPECT_THAT(message_of_read({{"x", x}, {"y", x}, {"z", x}, {"hit_id", event}}),
              HasSubstr("hit_id 1 is duplicated"));
  EXPECT_THAT(
      message_of_read(
          {{"x", x}, {"y", x}, {"z", x}, {"volume_id", event}, {"layer_id", ids({1, 1000})}}),
      HasSubstr("hit 1: got volume_id 1 and layer_id 1000, expected"));
  EXPECT_THAT(
      message_of_read({{"x", lists({{1, 2}})}, {"y", lists({{1}})}, {"z", lists({{1, 2}})}}),
      HasSubstr("row 0: column y has 1 elements, x has 2; expected one for each hit"));
}

TEST_F(EventTableTest, ADuplicateEventIsAnErrorWithTheRowsOfBoth) {
  const auto x = tables::counted(3);
  const auto file = tables::write(path("a.parquet"),
                                  {{"x", x}, {"y", x}, {"z", x}, {"event", ids({1, 2, 1})}}, 9);
  const std::vector<std::string> inputs{file.string()};
  EXPECT_THAT(message_of<InputError>([&] { find_events(inputs); }),
              AllOf(HasSubstr("two events are called"), HasSubstr("a.parquet, row 0 and "),
                    HasSubstr("a.parquet, row 2")));
}

TEST_F(EventTableTest, ATruncatedFileIsAnEventThatFails) {
  const auto file = tables::write(path("b.parquet"), hits_of({1'000}), 100);
  tables::write(path("a.parquet"), hits_of({2}), 100);
  tables::write(path("c.arrow"), hits_of({2}), 100);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  const auto sources = find_events(folder_.path().string());
  ASSERT_THAT(names_of(sources), ElementsAre("a_7", "b", "c_7"));
  EXPECT_EQ(sources[0].read().hits.size(), 2U);
  EXPECT_THAT(message_of<InputError>([&] { sources[1].read(); }),
              HasSubstr("b.parquet: is not a Parquet file, or is damaged or truncated"));
  EXPECT_EQ(sources[2].read().hits.size(), 2U);
}

TEST_F(EventTableTest, HitsThatCannotBeReadLoseTheEventsThatTheyAreOf) {
  const auto file = tables::write(path("a.parquet"), hits_of({2, 2, 4, 2, 2}), 3);
  damage(file, 1, "y");  // rows 3 to 5: the end of a_8, the begin of a_9
  const auto sources = find_events(file.string());
  ASSERT_EQ(sources.size(), 5U);
  for (int repeat = 0; repeat < 2; ++repeat) {
    for (const std::size_t lost : {1U, 2U}) {
      EXPECT_THAT(message_of<InputError>([&] { sources[lost].read(); }),
                  HasSubstr("a.parquet: row group 1, row 3: is damaged"));
    }
    EXPECT_EQ(x_of(sources[0].read()), counted(0, 2));
    EXPECT_EQ(x_of(sources[3].read()), counted(8, 2));
    EXPECT_EQ(x_of(sources[4].read()), counted(10, 2));
  }
}

TEST_F(EventTableTest, NumbersOfEventsThatCannotBeReadLoseTheirNeighboursToo) {
  // In rows 3 to 5 nothing shows which events there are; a_8 and a_10 may have rows there.
  const auto file = tables::write(path("a.parquet"), hits_of({2, 1, 3, 2, 2}), 3);
  damage(file, 1, "event_id");
  const auto sources = find_events(file.string());
  ASSERT_THAT(names_of(sources), ElementsAre("a_7", "a_8", "a_lost-from-row-3", "a_10", "a_11"));
  for (const std::size_t lost : {1U, 2U, 3U}) {
    EXPECT_THAT(message_of<InputError>([&] { sources[lost].read(); }),
                HasSubstr("a.parquet: row group 1, row 3: is damaged"));
  }
  EXPECT_EQ(x_of(sources[0].read()), counted(0, 2));
  EXPECT_EQ(x_of(sources[4].read()), counted(8, 2));
  // An event on both sides is one event.
  const auto around = tables::write(path("b.parquet"), hits_of({1, 7, 1}), 3);
  damage(around, 1, "event_id");
  EXPECT_THAT(names_of(find_events(around.string())),
              ElementsAre("b_7", "b_lost-from-row-3", "b_8", "b_9"));
}

TEST_F(EventTableTest, ThreadsReadAheadAndGetTheSame) {
  const std::vector<std::size_t> sizes(200, 5);
  for (const char* name : {"a.parquet", "a.arrow", "a.ipc"}) {
    const auto sources = events_of(name, hits_of(sizes), 17);
    std::vector<std::vector<float>> read(sources.size());
    std::vector<std::thread> threads;
    for (std::size_t thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        for (std::size_t i = thread; i < sources.size(); i += 4) {
          if (const auto work = sources[i].read_ahead()) work();
          read[i] = x_of(sources[i].read());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < sources.size(); ++i) EXPECT_EQ(read[i], counted(5 * i, 5)) << name;
  }
}

TEST_F(EventTableTest, ReadingAheadIsHandedOutOnce) {
  const auto sources = events_of("a.parquet", hits_of({1, 1, 1, 1, 1}), 1);
  EXPECT_TRUE(sources[0].read_ahead());  // of parts 1 and 2
  EXPECT_FALSE(sources[0].read_ahead());
  EXPECT_TRUE(sources[1].read_ahead());  // of part 3
  EXPECT_TRUE(sources[2].read_ahead());  // of part 4
  EXPECT_FALSE(sources[4].read_ahead());
  EXPECT_FALSE(find_events("generate:2").front().read_ahead());
}

}  // namespace
}  // namespace tensoa::track
