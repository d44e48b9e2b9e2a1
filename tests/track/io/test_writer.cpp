// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/track/writer.hpp"

#include <arrow/api.h>
#include <arrow/io/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <parquet/arrow/reader.h>

#include <memory>
#include <vector>

#include "tensoa/core/error.hpp"
#include "tensoa/track/generator.hpp"
#include "tensoa/track/graph_builder.hpp"
#include "track/files.hpp"

namespace tensoa::track {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

PortableCollection<Hit> some_hits(std::size_t n) {
  PortableCollection<Hit> collection(n, Device::cpu());
  const auto hits = collection.view();
  for (std::size_t i = 0; i < n; ++i) {
    const auto value = static_cast<float>(i);
    hits.x[i] = value + 0.5F;
    hits.y[i] = -value;
    hits.z[i] = 10 * value;
    hits.hit_id[i] = static_cast<std::int64_t>(i) + 100;
    hits.track_id[i] = static_cast<std::int64_t>(i) - 1;
  }
  return collection;
}

std::shared_ptr<arrow::Table> read_parquet(const std::filesystem::path& path) {
  const auto file = arrow::io::ReadableFile::Open(path.string()).ValueOrDie();
  const auto reader = parquet::arrow::OpenFile(file, arrow::default_memory_pool()).ValueOrDie();
  return reader->ReadTable().ValueOrDie();
}

template <class ArrowType>
std::vector<typename ArrowType::c_type> column(const arrow::Table& table, const std::string& name) {
  std::vector<typename ArrowType::c_type> values;
  for (const auto& chunk : table.GetColumnByName(name)->chunks()) {
    const auto& array = static_cast<const arrow::NumericArray<ArrowType>&>(*chunk);
    values.insert(values.end(), array.raw_values(), array.raw_values() + array.length());
  }
  return values;
}

template <class T>
std::vector<T> values_of(const T* data, std::size_t n) {
  return {data, data + n};
}

TEST(TrackWriter, WritesCsv) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "tracks.csv";
  TrackWriter writer(path);
  writer.append("a", some_hits(2).const_view());
  writer.append("none", some_hits(0).const_view());
  writer.append("b", some_hits(1).const_view());
  EXPECT_FALSE(std::filesystem::exists(path));
  writer.finish();
  EXPECT_EQ(contents_of(path),
            "\"event\",\"hit_id\",\"x\",\"y\",\"z\",\"track_id\"\n"
            "\"a\",100,0.5,-0,0,-1\n"
            "\"a\",101,1.5,-1,10,0\n"
            "\"b\",100,0.5,-0,0,-1\n");
  EXPECT_EQ(folder.files(), 1U);
}

TEST(TrackWriter, WritesParquet) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "tracks.parquet";
  TrackWriter writer(path);
  writer.append("a", some_hits(2).const_view());
  writer.append("b", some_hits(3).const_view());
  writer.finish();
  const auto table = read_parquet(path);
  EXPECT_THAT(table->ColumnNames(), ElementsAre("event", "hit_id", "x", "y", "z", "track_id"));
  EXPECT_THAT(column<arrow::Int64Type>(*table, "hit_id"), ElementsAre(100, 101, 100, 101, 102));
  EXPECT_THAT(column<arrow::FloatType>(*table, "x"), ElementsAre(0.5F, 1.5F, 0.5F, 1.5F, 2.5F));
  EXPECT_THAT(column<arrow::Int64Type>(*table, "track_id"), ElementsAre(-1, 0, -1, 0, 1));
  EXPECT_EQ(table->GetColumnByName("event")->GetScalar(4).ValueOrDie()->ToString(), "b");
  EXPECT_EQ(folder.files(), 1U);
}

TEST(TrackWriter, NoEventsGiveAFileWithoutRows) {
  const TemporaryFolder folder;
  TrackWriter csv(folder.path() / "tracks.csv");
  csv.finish();
  EXPECT_THAT(contents_of(folder.path() / "tracks.csv"), HasSubstr("hit_id"));
  TrackWriter parquet(folder.path() / "tracks.parquet");
  parquet.finish();
  EXPECT_EQ(read_parquet(folder.path() / "tracks.parquet")->num_rows(), 0);
}

TEST(TrackWriter, LeavesNothingWhenItIsNotFinished) {
  const TemporaryFolder folder;
  const auto old = folder.write("tracks.csv", "old");
  for (const auto* name : {"tracks.csv", "tracks.parquet"}) {
    TrackWriter writer(folder.path() / name);
    writer.append("a", some_hits(1000).const_view());
  }
  EXPECT_EQ(folder.files(), 1U);
  EXPECT_EQ(contents_of(old), "old");
}

TEST(TrackWriter, RejectsOtherEndings) {
  EXPECT_THAT(message_of<ConfigError>([] { TrackWriter("tracks.txt"); }),
              HasSubstr("expected a file named .csv or .parquet"));
  EXPECT_THROW(TrackWriter("tracks"), ConfigError);
}

TEST(TrackWriter, RejectsAPathThatCannotBeWritten) {
  EXPECT_THAT(message_of<OutputError>([] { TrackWriter("/no/such/folder/tracks.csv"); }),
              HasSubstr("/no/such/folder/tracks.csv"));
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "folder.csv");
  EXPECT_THROW(TrackWriter(folder.path() / "folder.csv"), OutputError);
}

TEST(WriteGraph, WritesTheColumnsWithoutAnswers) {
  const TemporaryFolder folder;
  Event event = generate({.particles = 60}, 0);
  GraphBuilder builder;
  const auto edges = builder.build(event.hits.view()).const_view();
  const auto hits = event.hits.const_view();
  ASSERT_GT(edges.size(), 0U);
  write_graph(folder.path() / "new", "event", hits, edges);

  const auto nodes = read_parquet(folder.path() / "new" / "event-hits.parquet");
  EXPECT_THAT(nodes->ColumnNames(), ElementsAre("x", "y", "z", "layer", "hit_id", "particle_id",
                                                "r_scaled", "phi_scaled", "z_scaled"));
  EXPECT_EQ(column<arrow::FloatType>(*nodes, "z"), values_of(hits.z.data(), hits.size()));
  EXPECT_EQ(column<arrow::Int32Type>(*nodes, "layer"), values_of(hits.layer.data(), hits.size()));
  EXPECT_EQ(column<arrow::Int64Type>(*nodes, "particle_id"),
            values_of(hits.particle_id.data(), hits.size()));
  EXPECT_EQ(column<arrow::FloatType>(*nodes, "phi_scaled"),
            values_of(hits.phi_scaled.data(), hits.size()));

  const auto pairs = read_parquet(folder.path() / "new" / "event-edges.parquet");
  EXPECT_THAT(pairs->ColumnNames(),
              ElementsAre("source", "target", "dr", "dphi", "dz", "dR", "truth"));
  EXPECT_EQ(column<arrow::Int64Type>(*pairs, "target"),
            values_of(edges.target.data(), edges.size()));
  EXPECT_EQ(column<arrow::FloatType>(*pairs, "dR"), values_of(edges.dR.data(), edges.size()));
  EXPECT_EQ(column<arrow::UInt8Type>(*pairs, "truth"), values_of(edges.truth.data(), edges.size()));
}

TEST(WriteGraph, WritesEmptyEvents) {
  const TemporaryFolder folder;
  Event event = generate({.particles = 0}, 0);
  GraphBuilder builder;
  const auto& edges = builder.build(event.hits.view());
  write_graph(folder.path(), "empty", event.hits.const_view(), edges.const_view());
  EXPECT_EQ(read_parquet(folder.path() / "empty-edges.parquet")->num_rows(), 0);
}

TEST(WriteGraph, RejectsAFolderThatCannotBeMade) {
  const TemporaryFolder folder;
  const auto file = folder.write("file", "");
  const auto hits = some_hits(0);
  const PortableCollection<Edge> edges(0, Device::cpu());
  EXPECT_THROW(write_graph(file, "event", hits.const_view(), edges.const_view()), OutputError);
}

}  // namespace
}  // namespace tensoa::track
