// SPDX-FileCopyrightText: 2026 The tensoa authors
// SPDX-License-Identifier: Apache-2.0
#include "tensoa/merge/writer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "../support/temporary_folder.hpp"
#include "columnar/tables.hpp"
#include "columns.hpp"
#include "tensoa/core/error.hpp"
#include "tensoa/merge/device_event.hpp"
#include "tensoa/merge/generator.hpp"

namespace tensoa::merge {
namespace {

namespace fs = std::filesystem;

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<std::string> names_of(const columnar::TableFile& file) {
  std::vector<std::string> names;
  for (const auto& column : file.columns()) names.push_back(column.name);
  return names;
}

std::vector<float> numbers_of(const columnar::TableFile& file, const std::string& column) {
  const columnar::TableChunk chunk = columnar::test::only_chunk(file, {column});
  columnar::NumberMemory memory;
  const auto* numbers = reinterpret_cast<const float*>(chunk.numbers(0, DType::kF32, {}, memory));
  return {numbers, numbers + chunk.rows()};
}

template <class Column>
std::vector<float> floats(const Column& column, std::size_t n) {
  const auto all = list(column, n);
  return {all.begin(), all.end()};
}

/// Clusters of the fragments 2 and 4, merged into particles 1 and 0, and one on no fragment.
Event event_of(std::string name) {
  PortableCollection<Cluster> clusters(4, Device::cpu());
  const View<Cluster> v = clusters.view();
  for (std::size_t i = 0; i < 4; ++i) {
    v.x[i] = 100 + static_cast<float>(i);
    v.y[i] = -1;
    v.z[i] = 3300;
    v.energy[i] = 0.5F;
    v.time[i] = kNoTime;
    v.layer[i] = v.cells[i] = 1;
    v.fragment_id[i] = std::vector<std::int64_t>{4, -1, 2, 4}[i];
    v.particle_id[i] = 0;
  }
  Event event = make_event(std::move(name), clusters.const_view(), false);
  event.fragments.view().merged_id[0] = 1;
  event.fragments.view().merged_id[1] = 0;
  return event;
}

TEST(MergeWriter, ClustersHaveTheMergedParticleOfTheirFragment) {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "out.parquet";
  MergeWriter writer(path);
  writer.append(event_of("a"));
  writer.append(Event{});
  writer.append(event_of("b"));
  EXPECT_FALSE(fs::exists(path));
  writer.finish();
  const columnar::TableFile file(path);
  EXPECT_THAT(names_of(file),
              ElementsAre("event", "x", "y", "z", "energy", "layer", "fragment_id", "merged_id"));
  EXPECT_THAT(numbers_of(file, "fragment_id"), ElementsAre(2, 4, 4, -1, 2, 4, 4, -1));
  EXPECT_THAT(numbers_of(file, "merged_id"), ElementsAre(1, 0, 0, -1, 1, 0, 0, -1));
  EXPECT_THAT(numbers_of(file, "x"), ElementsAre(102, 100, 103, 101, 102, 100, 103, 101));
}

TEST(MergeWriter, NamesOfEventsAreQuotedInText) {
  const test::TemporaryFolder folder;
  const fs::path path = folder.path() / "out.csv";
  MergeWriter writer(path);
  writer.append(event_of("a,\"b\""));
  writer.finish();
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, R"("event","x","y","z","energy","layer","fragment_id","merged_id")");
  std::getline(file, line);
  EXPECT_EQ(line, R"("a,""b""",102,-1,3300,0.5,1,2,1)");
}

TEST(MergeWriter, OtherEndingsAreRefused) {
  const test::TemporaryFolder folder;
  EXPECT_THAT([&] { MergeWriter(folder.path() / "out.arrow"); },
              ThrowsMessage<ConfigError>(HasSubstr("expected a file named .csv or .parquet")));
  EXPECT_THROW(MergeWriter(folder.path() / "none" / "out.csv"), OutputError);
  EXPECT_EQ(folder.files(), 0U);
}

TEST(WriteGraph, FilesHaveTheColumnsOfNodesAndEdgesWithoutAnswers) {
  const test::TemporaryFolder folder;
  Event event = generate({.particles = 5}, 3);
  DeviceEvent on_device{Queue(Device::cpu())};
  on_device.start_graph(event);
  const std::size_t n_edges = on_device.finish_graph();
  ASSERT_GT(n_edges, 0U);
  const fs::path made = folder.path() / "deep" / "graphs";
  const auto nodes = on_device.nodes().const_view();
  const auto edges = on_device.edges().const_view();
  write_graph(made, "e", event.fragments.const_view(), nodes, edges);

  const columnar::TableFile of_fragments(made / "e-fragments.parquet");
  const std::vector<std::string> names = names_of(of_fragments);
  ASSERT_EQ(names.size(), 2U + 29U);
  EXPECT_EQ(names[0], "fragment_id");
  EXPECT_EQ(names[1], "particle_id");
  EXPECT_EQ(names.back(), "time");
  EXPECT_EQ(numbers_of(of_fragments, "particle_id"),
            floats(event.fragments.const_view().particle_id, event.fragments.size()));
  EXPECT_EQ(numbers_of(of_fragments, "variance_2"), floats(nodes.variance_2, nodes.size()));

  const columnar::TableFile of_edges(made / "e-edges.parquet");
  EXPECT_THAT(names_of(of_edges),
              ElementsAre("source", "target", "energy_difference", "dz", "transverse", "nearest",
                          "farthest", "time_difference", "cosine", "truth"));
  EXPECT_EQ(numbers_of(of_edges, "source"), floats(edges.source, n_edges));
  EXPECT_EQ(numbers_of(of_edges, "cosine"), floats(edges.cosine, n_edges));
  EXPECT_EQ(numbers_of(of_edges, "truth"), floats(edges.truth, n_edges));
}

TEST(WriteGraph, AFolderThatCannotBeMadeIsAnError) {
  const test::TemporaryFolder folder;
  folder.write("file", "");
  EXPECT_THAT([&] { write_graph(folder.path() / "file" / "graphs", "e", {}, {}, {}); },
              ThrowsMessage<OutputError>(HasSubstr("cannot make the folder")));
}

}  // namespace
}  // namespace tensoa::merge
